/** The tables of POLICY.md, by the names of its markers (`<!-- table: NAME -->`). The prose around them is written by hand. */
import * as annotations from "./annotations.ts";
import * as descheduling from "./descheduling.ts";
import * as guard from "./guard.ts";
import * as preflight from "./preflight.ts";
import * as tables from "./tables.ts";
import * as underWay from "./under-way.ts";

export const TABLES: Readonly<Record<string, () => string>> = {
  causes: tables.causeTable,
  strategies: tables.strategyTable,
  answers: tables.answerTable,
  external: tables.ownerTable,
  underWay: underWay.underWayTable,
  nodeVerdict: preflight.nodeVerdictTable,
  annotations: annotations.annotationTable,
  disruptions: guard.disruptionTable,
  release: guard.releaseTable,
  nodeEnd: guard.nodeEndTable,
  retry: guard.retryTable,
  results: descheduling.resultTable,
  cycleEnds: descheduling.cycleEndTable,
  events: tables.eventTable,
  undecided: tables.undecidedTable,
};

const MARKED = /<!-- table: (\w+) -->\n+(?:\|.*\n)*\n*/g;

/** The same text, each table as the code has it now, with an empty line after it. Throws for a marker that names none. */
export function withTables(text: string): string {
  const rendered = text.replaceAll(MARKED, (_, name: string) => {
    const table = TABLES[name];
    if (table === undefined) throw new Error(`POLICY.md: no table is called "${name}"`);
    return `<!-- table: ${name} -->\n\n${table()}\n\n`;
  });
  return `${rendered.trimEnd()}\n`;
}
