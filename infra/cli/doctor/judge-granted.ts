/** What Lifeboat's accounts may do, by the shipped file that grants it, and what stops without it. */
import { failed, type Finding, judged, ok } from "./check.ts";
import type { Answered, Facts } from "./facts.ts";
import { type Granted, permissionText } from "./permissions.ts";

const LONGEST = 8;

/** `files`: one of them is enough. */
export function judgeGranted(file: string, { granted }: Pick<Facts, "granted">): readonly Finding[] {
  const name = file.replace(/^kubernetes\//, "");
  return judged(`the permissions of ${name}`, granted, (answers) => {
    const missing = answers.filter((one) => one.file === file && !one.allowed);
    if (missing.length === 0) return ok(`the permissions of ${name} are granted`);
    const count = `${missing.length} permission${missing.length === 1 ? "" : "s"}`;
    return failed(`Lifeboat lacks ${count} of ${name}`, reasonsOf(missing), `kubectl apply -f infra/${file}`);
  });
}

function reasonsOf(missing: readonly Answered<Granted>[]): readonly string[] {
  const told = missing.slice(0, LONGEST).map((one) => `${permissionText(one)}: ${one.without}`);
  return missing.length > LONGEST ? [...told, `and ${missing.length - LONGEST} more`] : told;
}
