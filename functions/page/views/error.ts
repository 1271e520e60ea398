/** The page that says why there is no other one. */
import { html } from "hono/html";
import { ClusterError } from "../../../shared/kube/failures.ts";
import type { Platform } from "../../env.ts";
import { type Reason, RejectionError, type RenderedError, renderRejection, unavailable } from "../../rejection.ts";
import { sentence } from "../components.ts";
import { layout } from "../layout.ts";
import { FLEET_PATH, signInPath } from "../links.ts";
import type { PageContext } from "../visits.ts";

/** As a page for a browser that shows it, as JSON for the script and for programs. */
export async function answerError(c: PageContext, error: unknown, platform: Platform): Promise<Response> {
  const rendered = renderRejection(rejectionOf(error, platform));
  const { code, body } = rendered;
  const isPage = c.req.header("accept")?.includes("text/html") === true;
  if (!isPage) return c.json(body, code);
  // They come back to the page once they have signed in.
  if (body.error.reason === "Unauthorized") return c.redirect(signInPath(c.req.path), 303);
  const [title, words] = wordsOf(rendered);
  const [, cluster] = /^(\/fleet\/[^/]+)\/./.exec(new URL(c.req.url).pathname) ?? [];
  const main = html`<h1>${title}</h1>
    <p class="lead">${words}</p>
    <p class="acts">
      ${cluster === undefined ? "" : html`<a href="${cluster}">To the cluster</a>`}
      <a href="${FLEET_PATH}">To the fleet</a>
    </p>`;
  return c.html(await layout({ title, main }), code);
}

function rejectionOf(error: unknown, { log }: Platform): RejectionError {
  if (error instanceof RejectionError) return error;
  if (error instanceof ClusterError) return unavailable(error);
  log({ level: "error", message: "unexpected error", error: error instanceof Error ? error.stack : undefined });
  return new RejectionError("InternalError");
}

type Words = readonly [title: string, words: string];

/** `InternalError` says nothing of what the error was. */
// prettier-ignore
const BY_REASON: Partial<Record<Reason, Words>> = {
  NotFound:             ["No such page", "Lifeboat has no page at this address."],
  UnknownCluster:       ["No such cluster", "Lifeboat knows no cluster of this name."],
  NodeNotFound:         ["No such node", "The cluster has no node of this name. It may have been removed since."],
  VmNotFound:           ["No such virtual machine", "The VM does not run, and no evacuation or migration of it is left. Lifeboat keeps them for an hour after their end."],
  InvalidConfiguration: ["Lifeboat is not set up for this cluster", "Its entry in CLUSTERS or in the registry is not valid. The log of Lifeboat says why, and lifeboat doctor."],
  ClusterUnavailable:   ["The cluster cannot be reached", "Its API server did not answer as it should. Nothing was changed. Try again in a moment, or ask lifeboat doctor."],
  Forbidden:            ["You may not do this", "You may look, but not act, and nothing was changed. To act takes the permission to create and patch evacuations."],
  InternalError:        ["Something went wrong", "An unexpected error kept Lifeboat from showing this page. The log of Lifeboat has it. Your VMs are not affected."],
};

function wordsOf({ body }: RenderedError): Words {
  const { reason, message } = body.error;
  return BY_REASON[reason] ?? ["Lifeboat cannot do that", `${sentence(message)} Nothing was changed.`];
}
