/** `lifeboat doctor`: the list of its checks, and how they are made and printed. */
import { type Add, EXIT, type ExitCode, output } from "../command.ts";
import type { Host } from "../host.ts";
import { type Paint, paintFor, plain, printData } from "../print.ts";
import { type Check, type Finding, GROUPS, type Status, Unread } from "./check.ts";
import { tokens } from "./credentials.ts";
import { evictionAnswered } from "./eviction.ts";
import * as kubevirt from "./kubevirt.ts";
import * as lifeboat from "./lifeboat.ts";
import { permissions } from "./permissions.ts";
import { type Reads, readsOf } from "./reads.ts";
import { relay, relaySite } from "./relay.ts";

const CHECKS: readonly Check[] = [
  kubevirt.apiServerAnswers,
  kubevirt.apiServerVersion,
  kubevirt.kubevirtInstalled,
  kubevirt.kubevirtServed,
  kubevirt.kubevirtObject,
  kubevirt.kubevirtWebhook,
  lifeboat.installed,
  lifeboat.lifeboatServed,
  lifeboat.conditions,
  permissions,
  lifeboat.guard,
  evictionAnswered,
  relay,
  relaySite,
  tokens,
  lifeboat.credentialsCondition,
  lifeboat.shield,
];

export const doctor: Add = (program, { host, connect, ends }) => {
  program
    .command("doctor")
    .summary("whether this installation is in order, and what fixes what is not")
    .description(
      `Examines Kubernetes, KubeVirt, Lifeboat, the relay, credentials and the shield, from the kubeconfig alone, and
evicts one VM's pod in a dry run. Changes nothing. Below what is wrong: why, and the command that fixes it.

Exit codes: 0 nothing failed, 3 a check failed, 4 none failed and something could not be read.`,
    )
    .addOption(output(["json", "yaml"]))
    .action(
      ends(async ({ output: form }) => {
        const connection = connect();
        const checks = await examine(readsOf(connection, host.now()));
        if (host.interrupted.aborted) return EXIT.interrupted;
        const status = worstOf(checks);
        const { context, server } = connection;
        if (form === undefined) print(checks, host);
        else printData({ status, context, server, checks }, form, host);
        return EXIT_OF[status];
      }),
    );
};

const EXIT_OF = {
  ok: EXIT.done,
  warning: EXIT.done,
  unread: EXIT.unknown,
  failed: EXIT.no,
} as const satisfies Record<Status, ExitCode>;

interface Said extends Finding {
  readonly group: Check["group"];
}

export async function examine(reads: Reads): Promise<readonly Said[]> {
  const said: Said[] = [];
  for (const { group, about, find, fatal } of CHECKS) {
    const findings = [await find(reads).catch((error: unknown) => unread(about, error))].flat();
    const isNews = ({ message }: Finding) => !said.some((one) => one.group === group && one.message === message);
    said.push(...findings.filter(isNews).map((finding) => ({ group, ...finding })));
    if (fatal && findings.some(({ status }) => status === "failed")) break;
  }
  return said;
}

function unread(about: string, error: unknown): Finding {
  if (!(error instanceof Unread)) throw error;
  const fix = "ask an administrator of the cluster for the permission, or to run lifeboat doctor";
  const isForbidden = error.message.startsWith("you are not allowed");
  return {
    status: "unread",
    message: `${about} could not be read`,
    reasons: [error.message],
    ...(isForbidden && { fix }),
  };
}

const WORST: readonly Status[] = ["failed", "unread", "warning", "ok"];

export function worstOf(checks: readonly Finding[]): Status {
  return WORST.find((status) => checks.some((check) => check.status === status)) ?? "ok";
}

const MARKS = {
  ok: ["√", "green"],
  warning: ["‼", "yellow"],
  unread: ["‼", "yellow"],
  failed: ["×", "red"],
} as const satisfies Record<Status, readonly [string, Parameters<Paint>[1]]>;

function print(checks: readonly Said[], host: Host): void {
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

const WORDS = [
  ["failed", "failed"],
  ["unread", "could not be read"],
  ["warning", "worth a look"],
] as const satisfies readonly (readonly [Status, string])[];

function summaryOf(checks: readonly Said[]): string {
  const said = WORDS.flatMap(([status, what]) => {
    const count = checks.filter((check) => check.status === status).length;
    return count === 0 ? [] : [`${count} ${what}`];
  });
  return said.length === 0 ? `all ${checks.length} checks passed` : `${checks.length} checks: ${said.join(", ")}`;
}
