/** Checks for people: a group, its verdicts; below a verdict the reasons, then the command that fixes it. */
import type { Host } from "../host.ts";
import { type Paint, paintFor, plain } from "../print.ts";
import { type Check, GROUPS, type Status } from "./check.ts";
import { worstOf } from "./judge.ts";

const MARKS = {
  ok: ["√", "green"],
  warning: ["‼", "yellow"],
  unread: ["‼", "yellow"],
  failed: ["×", "red"],
} as const satisfies Record<Status, readonly [string, Parameters<Paint>[1]]>;

export function printChecks(checks: readonly Check[], host: Host): void {
  const paint = paintFor(host.stdout, host);
  const say = (line: string) => host.stdout.write(`${line}\n`);
  const markOf = (status: Status) => paint(MARKS[status][0], MARKS[status][1]);
  for (const group of GROUPS) {
    const own = checks.filter((check) => check.group === group);
    if (own.length > 0) say(paint(group, "bold"));
    for (const { status, message, reasons = [], fix } of own) {
      say(`  ${markOf(status)} ${plain(message)}`);
      for (const reason of reasons) say(`      ${plain(reason)}`);
      if (fix !== undefined) say(`      ${paint(plain(fix), "dim")}`);
    }
    if (own.length > 0) say("");
  }
  say(`${markOf(worstOf(checks))} ${summaryOf(checks)}`);
}

function summaryOf(checks: readonly Check[]): string {
  const count = (status: Status) => checks.filter((check) => check.status === status).length;
  const said = (
    [
      [count("failed"), "failed"],
      [count("unread"), "could not be read"],
      [count("warning"), "worth a look"],
    ] as const
  ).flatMap(([many, what]) => (many === 0 ? [] : [`${many} ${what}`]));
  return said.length === 0 ? `all ${checks.length} checks passed` : `${checks.length} checks: ${said.join(", ")}`;
}
