/** The tables of POLICY.md, by the names of its markers (`<!-- table: NAME -->`). The prose around them is written by hand. */
import { ACTIVE_PHASES, END_PHASES } from "../../../../shared/policy/evacuation/phase.ts";
import * as annotations from "./annotations.ts";
import * as descheduling from "./descheduling.ts";
import * as guard from "./guard.ts";
import * as preflight from "./preflight.ts";
import * as tables from "./tables.ts";
import * as underWay from "./under-way.ts";

export const TABLES: Readonly<Record<string, () => string>> = {
  marks: tables.marksTable,
  firstRequest: tables.firstRequestTable,
  laterRequest: tables.laterRequestTable,
  external: tables.ownerTable,
  underWay: underWay.underWayTable,
  budget: tables.budgetTable,
  activePhases: () => tables.phaseTable(ACTIVE_PHASES),
  endPhases: () => tables.phaseTable(END_PHASES),
  convergence: tables.convergenceTable,
  nodeVerdict: preflight.nodeVerdictTable,
  annotations: annotations.annotationTable,
  disruptions: guard.disruptionTable,
  guard: guard.guardTable,
  release: guard.releaseTable,
  nodeEnd: guard.nodeEndTable,
  retry: guard.retryTable,
  pressure: guard.pressureTable,
  limits: descheduling.limitTable,
  results: descheduling.resultTable,
  cycleEnds: descheduling.cycleEndTable,
  causes: tables.causeTable,
  events: tables.eventTable,
  undecided: tables.blindTable,
};

const MARKED = /<!-- table: (\w+) -->\n\n(?:\|.*\n)*/g;

/** The same text, each table as the code has it now. Throws for a marker that names none. */
export function withTables(text: string): string {
  return text.replaceAll(MARKED, (_, name: string) => {
    const table = TABLES[name];
    if (table === undefined) throw new Error(`POLICY.md: no table is called "${name}"`);
    return `<!-- table: ${name} -->\n\n${table()}\n`;
  });
}
