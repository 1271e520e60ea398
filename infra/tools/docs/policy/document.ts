/**
 * The tables of POLICY.md, by the names of their markers (`<!-- table: NAME -->`). The prose around them is written by
 * hand.
 */
import * as guard from "./guard.ts";
import * as tables from "./tables.ts";

export const TABLES: Readonly<Record<string, () => string>> = {
  causes: tables.causeTable,
  strategies: tables.strategyTable,
  answers: tables.answerTable,
  disruptions: guard.disruptionTable,
  release: guard.releaseTable,
  events: tables.eventTable,
  undecided: tables.undecidedTable,
};

const MARKED = /<!-- table: (\w+) -->\n+(?:\|.*\n)*\n*/g;

/**
 * Returns the text with each table rendered from the code, and an empty line after it. Throws for a marker that names
 * no table.
 */
export function withTables(text: string, tables = TABLES): string {
  const rendered = text.replaceAll(MARKED, (_, name: string) => {
    const table = tables[name];
    if (table === undefined) throw new Error(`no table is called "${name}"`);
    return `<!-- table: ${name} -->\n\n${table()}\n\n`;
  });
  return `${rendered.trimEnd()}\n`;
}
