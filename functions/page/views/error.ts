/** The page that says why there is no other one. */
import { html } from "hono/html";
import { ClusterError } from "../../../shared/cluster/failure.ts";
import type { Platform } from "../../env.ts";
import { type Reason, RejectionError, type RenderedError, renderRejection, unavailable } from "../../rejection.ts";
import { layout } from "../layout.ts";
import { commandLine } from "../parts/components.ts";
import { sentence } from "../parts/text.ts";
import { fleetPath, signInPath } from "../paths.ts";
import type { Html, PageContext } from "../visit.ts";

/** As a page for a browser that shows it, as JSON for the script and for programs. */
export async function answerError(c: PageContext, error: unknown, platform: Platform): Promise<Response> {
  const rendered = renderRejection(rejectionOf(error, platform));
  const { code, body } = rendered;
  const isPage = c.req.header("accept")?.includes("text/html") === true;
  if (!isPage) return c.json(body, code);
  // They come back to the page once they have signed in.
  if (body.error.reason === "Unauthorized") return c.redirect(signInPath(c.req.path), 303);
  const { title, happened, todo, command } = errorWords(rendered);
  const main = html`<h1>${title}</h1>
    <p class="lead">${happened}</p>
    <p>${todo}</p>
    ${command === undefined ? "" : commandLine(command)}
    <p class="acts">${clusterLink(c)}<a href="${fleetPath()}">To the fleet</a></p>`;
  return c.html(await layout({ title, main }), code);
}

/** From a page below that of a cluster. */
function clusterLink({ req }: PageContext): Html | "" {
  const [, path] = /^(\/fleet\/[^/]+)\/./.exec(req.path) ?? [];
  return path === undefined ? "" : html`<a href="${path}">To the cluster</a> `;
}

function rejectionOf(error: unknown, { log }: Platform): RejectionError {
  if (error instanceof RejectionError) return error;
  if (error instanceof ClusterError) return unavailable(error);
  log({ level: "error", message: "unexpected error", error: error instanceof Error ? error.stack : undefined });
  return new RejectionError("InternalError");
}

export interface ErrorWords {
  readonly title: string;
  readonly happened: string;
  readonly todo: string;
  readonly command?: string;
}

const MISTYPED = "Check the address, or start again from the fleet.";

/** `InternalError` and what is not here say nothing of what the error was. */
const BY_REASON: Partial<Record<Reason, ErrorWords>> = {
  NotFound: { title: "No such page", happened: "Lifeboat has no page at this address.", todo: MISTYPED },
  UnknownCluster: {
    title: "No such cluster",
    happened: "Lifeboat knows no cluster of this name.",
    todo: "It may have been removed, or has another name. The fleet lists the clusters that you have signed in to.",
    command: "lifeboat doctor",
  },
  NodeNotFound: {
    title: "No such node",
    happened: "The cluster has no node of this name.",
    todo: "It may have been removed since. The cluster's page lists the nodes that it has.",
    command: "kubectl get nodes",
  },
  VmNotFound: {
    title: "No such virtual machine",
    happened: "The VM does not run, and nothing is left of its evacuations and migrations.",
    todo: "It may be stopped or deleted, or was never there. Lifeboat keeps an evacuation for an hour after its end.",
    command: "kubectl get vms,vmis -A",
  },
  InvalidConfiguration: {
    title: "Lifeboat is not set up for this cluster",
    happened: "What the administrator of Lifeboat has entered for this cluster is not valid.",
    todo: "Correct the entry of the cluster in CLUSTERS or in the registry. The log of Lifeboat says what is wrong with it.",
    command: "lifeboat doctor",
  },
  ClusterUnavailable: {
    title: "The cluster cannot be reached",
    happened: "Its API server did not answer as it should, so that nothing was read and nothing was changed.",
    todo: "Try again in a moment. If it stays so, look at the API server, and at the way from Lifeboat to it.",
    command: "lifeboat doctor",
  },
  Forbidden: {
    title: "You may not do this",
    happened: "You have signed in, but not as a user who may do what you asked for. Nothing was changed.",
    todo: "Ask an administrator of the cluster for the permission to patch evacuations, or to do it for you.",
    command: "kubectl auth can-i patch evacuations.lifeboat.dev -A",
  },
};

const ANY_MISTAKE: ErrorWords = {
  title: "Lifeboat cannot do that",
  happened: "What was asked for is not possible. Nothing was changed.",
  todo: "Go back, and look whether things are still as you expect them.",
};

const ANY_DEFECT: ErrorWords = {
  title: "Something went wrong",
  happened: "An unexpected error kept Lifeboat from showing this page. Your virtual machines are not affected by that.",
  todo: "Try again. If it happens again, the log of Lifeboat has the error.",
};

export function errorWords({ code, body }: RenderedError): ErrorWords {
  const known = BY_REASON[body.error.reason];
  if (known !== undefined) return known;
  return code < 500 ? { ...ANY_MISTAKE, happened: sentence(body.error.message) } : ANY_DEFECT;
}
