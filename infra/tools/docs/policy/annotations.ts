/** The descheduler annotations as a table for administrators. */
import {
  EVICTION_IN_PROGRESS,
  type MarkState,
  POD_ROLES,
  type PodRole,
  REQUEST_EVICT_ONLY,
} from "../../../../shared/annotations/descheduler-annotations.ts";
import { EVICTION_IN_PROGRESS_ANNOTATION, REQUEST_EVICT_ONLY_ANNOTATION } from "../../../../shared/kube/names.ts";
import { code, renderTable } from "./tables.ts";

const ROLE_WORDS = {
  Guest: "the guest runs in it",
  Other: "any other that runs, such as a migration's target",
  Completed: "completed",
  Terminating: "terminating",
} as const satisfies Record<PodRole, string>;

const CELL_WORDS = {
  add: "added",
  remove: "removed",
  leave: "left alone",
} as const satisfies Record<(typeof EVICTION_IN_PROGRESS)[PodRole][MarkState], string>;

/** Without the prefix that they share. */
function shortName(annotation: string): string {
  return code(annotation.replace(/^.*\//, ""));
}

export function annotationTable(): string {
  const only = shortName(REQUEST_EVICT_ONLY_ANNOTATION);
  const inProgress = shortName(EVICTION_IN_PROGRESS_ANNOTATION);
  const head = ["launcher pod", only, `${inProgress}, VM marked`, "marked for a node it has left", "not marked"];
  const rows = POD_ROLES.map((role) => {
    const { Marked, Stale, Unmarked } = EVICTION_IN_PROGRESS[role];
    return [ROLE_WORDS[role], ...[REQUEST_EVICT_ONLY[role], Marked, Stale, Unmarked].map((cell) => CELL_WORDS[cell])];
  });
  return renderTable([head, ...rows]);
}
