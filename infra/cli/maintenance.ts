/** `lifeboat pause`, `resume` and `cancel` for nodes. */
import { hasEnded } from "../../shared/kube/node-evacuation.ts";
import { hasRollingEnded } from "../../shared/kube/rolling-maintenance.ts";
import { type Change, changeNodeEvacuation, changeRolling, type Changed } from "../../shared/maintenance/api.ts";
import { type Add, agree, type Call, EXIT, type ExitCode, type With, YES } from "./command.ts";
import type { Connection } from "./connection.ts";
import { Failed } from "./failed.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";
import { SELECTOR } from "./preflight.ts";
import { allTargets, type Targets, targetsOf, targetWords, WORDS } from "./targets.ts";
import type { UnreadObject } from "./unread.ts";

export const pause: Add = (program, call) => {
  const about =
    "Pauses maintenance: nothing new starts on its nodes. Running migrations continue, and the nodes stay cordoned.";
  changing(program, { change: "pause", about }, call);
};

export const resume: Add = (program, call) => {
  changing(program, { change: "resume", about: "Resumes maintenance that was paused." }, call);
};

interface Changing {
  readonly change: "pause" | "resume";
  readonly about: string;
}

function changing(program: Parameters<Add>[0], { change, about }: Changing, { host, connect, ends }: Call): void {
  program
    .command(change)
    .description(about)
    .argument("[maintenance...]", WORDS, targetWords, [])
    .option(...SELECTOR)
    .option(...YES)
    .action(
      ends(async (words, { selector, ...options }) => {
        const connection = connect();
        const targets = await targetsOf({ words, selector }, connection);
        if (change === "resume") await checkPartsOf(targets, connection);
        const question = MESSAGES.change(change === "pause" ? "Pause" : "Resume", namesIn(targets));
        await agree(question, options, { connection, host });
        await changeAll(targets, change, connection);
        for (const name of namesIn(targets)) host.stdout.write(`${MESSAGES.changed(name, DONE[change])}\n`);
        return EXIT.done;
      }),
    );
}

/** Throws if a NodeEvacuation belongs to a RollingMaintenance that is paused or cannot be read. */
async function checkPartsOf({ nodeEvacuations, rolling }: Targets, connection: Connection): Promise<void> {
  const all = await allTargets(connection);
  const paused = all.rolling.filter(({ spec }) => spec.progress === "Paused");
  for (const { name, owner } of nodeEvacuations) {
    const rm = paused.find(({ uid }) => uid === owner?.uid);
    const isResumed = rolling.some(({ uid }) => uid === rm?.uid);
    if (rm !== undefined && !isResumed) throw new Failed(MESSAGES.pausedAsPart(name, rm.name));
    const odd = all.unread.find((one) => one.resource === "rollingmaintenances" && one.name === owner?.name);
    if (odd !== undefined) throw new Failed(MESSAGES.unread(odd));
  }
}

const DONE = { pause: "paused", resume: "resumed", cancel: "cancelled" } as const satisfies Record<Change, string>;

export function namesIn({ nodeEvacuations, rolling }: Targets): readonly string[] {
  return [
    ...rolling.map(({ name }) => `rollingmaintenance.lifeboat.dev/${name}`),
    ...nodeEvacuations.map(({ name }) => `nodeevacuation.lifeboat.dev/${name}`),
  ];
}

async function changeAll({ nodeEvacuations, rolling }: Targets, change: Change, connection: Connection): Promise<void> {
  const cluster = connection.cluster();
  for (const one of rolling) {
    checked(["RollingMaintenance", one.name], await changeRolling(one, change, cluster), connection);
  }
  for (const one of nodeEvacuations) {
    checked(["NodeEvacuation", one.name], await changeNodeEvacuation(one, change, cluster), connection);
  }
}

function checked([kind, name]: readonly [string, string], result: Changed, connection: Connection): void {
  if (result === "TryAgain") throw new Failed(MESSAGES.hasChanged(kind, name));
  if (result === "Lacking") throw new Failed(MESSAGES.forbidden(saidBy(connection)));
}

function saidBy({ refusals }: Connection): string {
  return [...refusals.values()].at(-1) ?? MESSAGES.noReason;
}

const POLL_MS = 1000;
/**
 * The time, in seconds, in which Lifeboat should react. If no relay reports changes to Lifeboat, Lifeboat reads changes
 * only once a minute.
 */
const SEEN_SECONDS = 90;
export const SILENT_SECONDS = 3;

/** Cancels maintenance and waits until the nodes are uncordoned. VMs that have not moved remain on their nodes. */
export async function cancelMaintenance(targets: Targets, { connection, host }: With): Promise<ExitCode> {
  await changeAll(targets, "cancel", connection);
  const began = host.now().getTime();
  let isSaid = false;
  for (let isOpen = true; isOpen;) {
    if (host.interrupted.aborted) return EXIT.interrupted;
    const seconds = (host.now().getTime() - began) / 1000;
    if (seconds > SILENT_SECONDS && !isSaid) host.stderr.write(`${MESSAGES.waiting}\n`);
    isSaid = seconds > SILENT_SECONDS;
    if (seconds > SEEN_SECONDS) throw new Failed(MESSAGES.notReacted(SEEN_SECONDS));
    await host.wait(POLL_MS);
    isOpen = isAnyOpen(targets, await allTargets(connection));
  }
  for (const name of namesIn(targets)) host.stdout.write(`${MESSAGES.changed(name, DONE.cancel)}\n`);
  return EXIT.done;
}

function isAnyOpen(targets: Targets, now: Targets): boolean {
  const wanted = new Set([...targets.nodeEvacuations, ...targets.rolling].map(({ uid }) => uid));
  return (
    now.unread.some((one) => isAmong(one, targets)) ||
    now.nodeEvacuations.some((one) => wanted.has(one.uid) && !hasEnded(one)) ||
    now.rolling.some((one) => wanted.has(one.uid) && !hasRollingEnded(one))
  );
}

/** Returns whether an object that cannot be read is one of the targets. */
function isAmong({ resource, name }: UnreadObject, { nodeEvacuations, rolling }: Targets): boolean {
  return (resource === "rollingmaintenances" ? rolling : nodeEvacuations).some((one) => one.name === name);
}
