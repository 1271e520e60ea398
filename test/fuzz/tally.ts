/**
 * What a run has come to: answers by door and code, and everything outside the contract.
 * Owns: counting and printing. Does not own: what is outside the contract (judge.ts).
 */
import type { Finding, Visit } from "./visit.ts";

/** So many of the same are told apart by the first of them. */
const SAME = 160;
const MOST_SHOWN = 10;

export class Tally {
  readonly #answers = new Map<string, Map<string, number>>();
  readonly #findings = new Map<string, { readonly first: Finding; count: number }>();
  #requests = 0;
  #found = 0;

  get requests(): number {
    return this.#requests;
  }

  /** Answers outside the contract, and whatever else was wrong. */
  get found(): number {
    return this.#found;
  }

  add({ answers, findings, requests }: Visit): void {
    this.#requests += requests;
    for (const { door, code } of answers) this.#count(door, code);
    for (const finding of findings) this.report(finding);
  }

  report(finding: Finding): void {
    this.#found += 1;
    const same = finding.problem.slice(0, SAME);
    const known = this.#findings.get(same);
    if (known === undefined) this.#findings.set(same, { first: finding, count: 1 });
    else known.count += 1;
  }

  reportAll(problems: readonly string[], asked: string): void {
    for (const problem of problems) this.report({ request: 0, problem, asked });
  }

  codesOf(door: string): ReadonlyMap<string, number> {
    return this.#answers.get(door) ?? new Map();
  }

  #count(door: string, code: number): void {
    const codes = this.#answers.get(door) ?? new Map<string, number>();
    const key = code === 0 ? "done" : String(code);
    codes.set(key, (codes.get(key) ?? 0) + 1);
    this.#answers.set(door, codes);
  }

  /** One line a door. */
  renderAnswers(): string {
    const rows = [...this.#answers].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return rows
      .map(([door, codes]) => {
        const counts = [...codes].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([code, n]) => `${code}: ${n}`);
        return `  ${door.padEnd(14)}  ${counts.join("   ")}`;
      })
      .join("\n");
  }

  renderFindings(repeat: (request: number) => string): string {
    return [...this.#findings.values()]
      .slice(0, MOST_SHOWN)
      .map(({ first, count }) => `✗ ${first.problem}\n  (${count} times)  ${repeat(first.request)}\n${first.asked}`)
      .join("\n\n");
  }
}
