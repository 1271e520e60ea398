/** What Lifeboat's accounts may do, by the shipped file that grants it, and what stops without it. */
import { failed, type Finding, judged, ok } from "./check.ts";
import type { Answered, Facts } from "./facts.ts";
import { type Granted, permissionText } from "./permissions.ts";

const LONGEST = 8;

/** `files`: one of them is enough. */
export function judgeGranted(files: readonly string[], { granted }: Pick<Facts, "granted">): readonly Finding[] {
  const names = files.map(nameOf).join(" or ");
  return judged(`the permissions of ${names}`, granted, (answers) => {
    const of = files.map((file) => ({ file, permissions: answers.filter((one) => one.file === file) }));
    const whole = of.find(({ permissions }) => permissions.every(({ allowed }) => allowed));
    if (whole !== undefined) return ok(`the permissions of ${nameOf(whole.file)} are granted`);
    const missing = of.map(({ permissions }) => permissions.filter(({ allowed }) => !allowed));
    const [fewest = []] = missing.toSorted((a, b) => a.length - b.length);
    const count = `${fewest.length} permission${fewest.length === 1 ? "" : "s"}`;
    const fix = `kubectl apply -f infra/${fewest[0]?.file ?? ""}`;
    return failed(`Lifeboat lacks ${count} of ${names}`, reasonsOf(fewest), fix);
  });
}

function reasonsOf(missing: readonly Answered<Granted>[]): readonly string[] {
  const told = missing.slice(0, LONGEST).map((one) => `${permissionText(one)}: ${one.without}`);
  return missing.length > LONGEST ? [...told, `and ${missing.length - LONGEST} more`] : told;
}

function nameOf(file: string): string {
  return file.replace(/^kubernetes\//, "");
}
