/** A cluster: what leaves which node. */
import { html } from "hono/html";
import type { EvacuationFacts } from "../../../shared/policy/facts.ts";
import { nodePath } from "../paths.ts";
import type { LivePage, Visit } from "../visit.ts";

const READ_SECONDS = 10;

export function clusterPage({ target }: Visit): LivePage<readonly EvacuationFacts[]> {
  return {
    key: "cluster",
    title: target.name,
    maxAgeMs: 2000,
    read: () => target.connect(READ_SECONDS).listEvacuations("All"),
    view: (evacuations, { cluster }) =>
      html`<h1>${cluster}</h1>
        <ul>
          ${evacuations.map(
            ({ spec, status }) =>
              html`<li>
                ${spec.vmiName} <a href="${nodePath(cluster, status.sourceNode ?? "")}">${status.sourceNode}</a>
                ${status.phase}
              </li>`,
          )}
        </ul>`,
  };
}
