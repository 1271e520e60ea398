/** Renders the table of requests to KubeVirt: what Lifeboat does when something changes after the request. */
import { ASKED_ROWS } from "../../../../shared/evacuation/asked.ts";
import { START_ROWS } from "../../../../shared/evacuation/start-again.ts";
import { renderTable } from "./tables.ts";

export function askedTable(): string {
  const rows = [...ASKED_ROWS, ...START_ROWS].map(({ asked, since, so }) => [asked, since, so]);
  return renderTable([["KubeVirt was asked for", "what has changed since", "so"], ...rows]);
}
