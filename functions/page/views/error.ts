/** The page that says why there is no other one. */
import { html } from "hono/html";
import type { Platform } from "../../env.ts";
import { RejectionError, renderRejection, unavailable } from "../../rejection.ts";
import { ClusterError } from "../../../shared/cluster/failure.ts";
import { layout } from "../layout.ts";
import { commandLine } from "../parts/components.ts";
import { errorWords } from "../parts/error-words.ts";
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
