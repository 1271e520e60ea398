/** `lifeboat doctor`: runs a list of checks, and prints their findings. */
import { FEATURES } from "../../../shared/features.ts";
import type { Feature } from "../../../shared/settings/feature.ts";
import { type Add, EXIT, type ExitCode, output } from "../command.ts";
import type { Host } from "../host.ts";
import { CLI_MESSAGES } from "../messages.ts";
import { type Paint, paintFor, printable, printAs } from "../print.ts";
import { type Finding, type Status } from "../../../shared/settings/finding.ts";
import { Unread } from "./check.ts";
import { credentialsValid, tokens } from "./credentials.ts";
import { evictionAnswered } from "./eviction.ts";
import { certificateValid, identity } from "./identity.ts";
import * as kubevirt from "./kubevirt.ts";
import * as installation from "./installation.ts";
import { grantsOf, permissions, permissionsOf } from "./permissions.ts";
import { holdClock, launchers, policies, schedulers } from "./policies.ts";
import { type DoctorReads, readsOf, settingsOf } from "./reads.ts";

type Check = (reads: DoctorReads) => Promise<readonly Finding[] | Finding>;

const CHECKS: Readonly<Record<string, readonly Check[]>> = {
  Kubernetes: [kubevirt.apiServerAnswers, kubevirt.apiServerVersion],
  KubeVirt: [kubevirt.kubevirtServed, kubevirt.kubevirtObject, kubevirt.kubevirtWebhook],
  Lifeboat: [
    installation.installed,
    installation.lifeboatServed,
    installation.reportedConditions,
    permissions,
    ...FEATURES.map(examinationOf),
    policies,
    holdClock,
    schedulers,
    launchers,
    evictionAnswered,
  ],
  Relay: [installation.relay, installation.relaySite],
  Credentials: [tokens, credentialsValid, identity, certificateValid],
};

function examinationOf(feature: Feature): Check {
  return async (reads) => {
    const permissions = () => permissionsOf(grantsOf(feature), reads);
    return (await feature.examine?.({ ...reads, settings: await settingsOf(reads), permissions })) ?? [];
  };
}

/** `lifeboat doctor` stops if one of these checks fails, because all later checks would fail, too. */
const FIRST: ReadonlySet<Check> = new Set([kubevirt.apiServerAnswers, kubevirt.kubevirtServed, installation.installed]);

export const doctor: Add = (program, { host, connect, ends }) => {
  program
    .command("doctor")
    .description(
      `Checks Kubernetes, KubeVirt, Lifeboat, the relay and the credentials, and evicts one VM's pod in a dry run. The
command needs only the kubeconfig, and changes nothing. For each problem, it prints the reason and a fix.

Exit codes: 0 no check failed, 3 a check failed, 4 no check failed, but something could not be read.`,
    )
    .addOption(output())
    .action(
      ends(async ({ output: form }) => {
        const connection = connect();
        const checks = await examine(readsOf(connection, host.now()));
        if (host.interrupted.aborted) return EXIT.interrupted;
        const status = worstStatus(checks);
        const { context, server } = connection;
        const data = { status, context, server, checks };
        printAs(form, { data, table: () => print(checks, host) }, host);
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
  readonly group: string;
}

export async function examine(reads: DoctorReads): Promise<readonly Said[]> {
  const said: Said[] = [];
  const all = Object.entries(CHECKS).flatMap(([group, checks]) => checks.map((check) => [group, check] as const));
  for (const [group, check] of all) {
    const findings = [await check(reads).catch(unread)].flat();
    const isNews = ({ message }: Finding) => !said.some((one) => one.group === group && one.message === message);
    said.push(...findings.filter(isNews).map((finding) => ({ group, ...finding })));
    if (FIRST.has(check) && findings.some(({ status }) => status === "failed")) break;
  }
  return said;
}

function unread(error: unknown): Finding {
  if (!(error instanceof Unread)) throw error;
  const fix = "ask an administrator of the cluster to grant the permission, or to run lifeboat doctor";
  const isForbidden = error.message.startsWith(CLI_MESSAGES.forbidden(""));
  const message = `${error.about} could not be read`;
  return { status: "unread", message, reasons: [error.message], ...(isForbidden && { fix }) };
}

const WORST: readonly Status[] = ["failed", "unread", "warning", "ok"];

export function worstStatus(checks: readonly Finding[]): Status {
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
  for (const group of Object.keys(CHECKS)) {
    const own = checks.filter((check) => check.group === group);
    if (own.length > 0) say(paint(group, "bold"));
    for (const { status, message, reasons = [], fix } of own) {
      say(`  ${markOf(status)} ${printable(message)}`);
      for (const reason of reasons) say(`      ${printable(reason)}`);
      if (fix !== undefined) say(`      ${paint(printable(fix), "dim")}`);
    }
    if (own.length > 0) say("");
  }
  say(`${markOf(worstStatus(checks))} ${summaryOf(checks)}`);
}

const WORDS = { failed: "failed", unread: "could not be read", warning: "with a warning" } as const;

function summaryOf(checks: readonly Said[]): string {
  const said = (["failed", "unread", "warning"] as const).flatMap((status) => {
    const count = checks.filter((check) => check.status === status).length;
    return count === 0 ? [] : [`${count} ${WORDS[status]}`];
  });
  if (said.length === 0) return `all ${checks.length} checks passed`;
  return `${checks.length} check${checks.length === 1 ? "" : "s"}: ${said.join(", ")}`;
}
