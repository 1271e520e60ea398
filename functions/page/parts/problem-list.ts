/** What is wrong with Lifeboat in a cluster, at the top of its page. */
import { html } from "hono/html";
import type { Html } from "../visit.ts";
import type { ClusterProblem } from "./cluster-problems.ts";
import { commandLine } from "./command.ts";
import { notice } from "./notice.ts";
import { told } from "./text.ts";

export function problemList(problems: readonly ClusterProblem[]): Html {
  return html`${problems.map(({ mood, title, message, command }) =>
    notice(
      mood,
      html`<p><strong>${title}.</strong> ${told(message)}</p>
        ${commandLine(command)}`,
    ),
  )}`;
}
