/** `lifeboat evacuate`, `retry` and `cancel`: requests a change of a VM's evacuation, and waits for the result. */
import { parseAnswer } from "../../shared/kube/read.ts";
import { type Requester, type Evacuating, evacuateVm, retryVm } from "../../shared/act/evacuate-vm.ts";
import {
  type EvacuationFacts,
  type EvacuationStatus,
  isActive,
  isEnd,
  isUnfinished,
} from "../../shared/kube/evacuation.ts";
import type { NamespacedName } from "../../shared/kube/facts.ts";
import { isFinal } from "../../shared/kube/objects.ts";
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { type Add, agree, EXIT, KIND, nameMatching, type ExitCode, type With, YES } from "./command.ts";
import type { Connection } from "./connection.ts";
import { Failed } from "./failed.ts";
import type { Host } from "./host.ts";
import { SILENT_SECONDS } from "./maintenance.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";
import { printable } from "./print.ts";
import { orVm } from "./suggest.ts";
import * as z from "zod/mini";
import { selectEvacuationsOf } from "../../shared/kube/selections.ts";
import { listAll, notInList } from "./unread.ts";

function ofVm(program: CommandUnknownOpts, name: string, description: string) {
  const command = program
    .command(name)
    .description(description)
    .option(...YES);
  return command.argument("<vm>", "web or vm/web", nameMatching("VM", KIND.vm));
}

export const evacuate: Add = (program, { host, connect, ends }) => {
  ofVm(
    program,
    "evacuate",
    `Creates an Evacuation, so that the virtual machine migrates to another node, and waits until Lifeboat has started
the evacuation. If an evacuation of the VM is already in progress, the command follows that evacuation, and creates none.

Exit code: 0 Lifeboat has started the evacuation (with --wait: the VM has moved), 1 otherwise, for example because the VM cannot migrate.`,
  )
    .option("--wait", "wait until the VM has moved or the evacuation has failed")
    .option("--no-wait", "return at once, without waiting for Lifeboat")
    .action(
      ends(async (word, { wait, ...options }) => {
        const connection = connect();
        const key = vmNamed(word, connection);
        const { nodeName = "" } = await runningVm(key, connection);
        await agree(MESSAGES.evacuate(key, nodeName), options, { connection, host });
        const evacuation = await startedOf(await evacuateVm(key, await askingOf(connection, host)), key, connection);
        host.stdout.write(`${MESSAGES.evacuation(evacuation.name)}\n`);
        if (wait === false) return EXIT.done;
        const isReached = ({ phase }: EvacuationStatus) =>
          phase === "Moved" || (wait !== true && phase !== undefined && !isEnd(phase));
        return await followVm(evacuation, { connection, host, isReached });
      }),
    );
};

export const retry: Add = (program, { host, connect, ends }) => {
  ofVm(
    program,
    "retry",
    `Starts the next attempt of an evacuation that backs off. If the last evacuation was abandoned, starts a new one,
whose attempts count from one. Lifeboat then creates the migration, or ends the back-off of KubeVirt's own migration.

Exit code: 0 the next attempt has started, 1 otherwise, for example because no evacuation has failed.`,
  ).action(
    ends(async (word, options) => {
      const connection = connect();
      const key = vmNamed(word, connection);
      await runningVm(key, connection);
      await agree(MESSAGES.retry(key), options, { connection, host });
      const evacuation = await startedOf(await retryVm(key, await askingOf(connection, host)), key, connection);
      host.stdout.write(`${MESSAGES.evacuation(evacuation.name)}\n`);
      return await followVm(evacuation, { connection, host, isReached: isTried });
    }),
  );
};

async function startedOf(
  evacuating: Evacuating | { readonly result: "NothingFailed" },
  key: NamespacedName,
  connection: Connection,
): Promise<EvacuationFacts> {
  switch (evacuating.result) {
    case "NotRunning":
      throw await notRunning(key, connection);
    case "NothingFailed":
      throw new Failed(MESSAGES.nothingToRetry(key, await newestOf(key, connection)));
    case "TryAgain":
      throw new Failed(MESSAGES.hasJustEnded);
    case "Started":
    case "Joined":
      return evacuating.evacuation;
  }
}

async function runningVm(key: NamespacedName, connection: Connection) {
  const vmi = await connection.cluster().get("virtualmachineinstances", key);
  if (vmi === undefined || isFinal(vmi)) throw await notRunning(key, connection);
  return vmi;
}

async function notRunning(key: NamespacedName, connection: Connection): Promise<Failed> {
  return new Failed(MESSAGES.notRunning(key, await orVm(key, connection)));
}

/** Describes the newest Evacuation and its phase, and names the Evacuations that cannot be parsed. */
export async function newestOf(key: NamespacedName, connection: Connection): Promise<string> {
  const { items, unread } = await listAll(connection.cluster(), "evacuations", selectEvacuationsOf(key));
  const newest = items.toSorted((a, b) => a.createdAt - b.createdAt).at(-1);
  const said = newest === undefined ? "" : MESSAGES.newest(newest.name, newest.status.phase ?? "new");
  return `${said}${MESSAGES.unreadEvacuations(unread)}`;
}

function isTried({ phase }: EvacuationStatus): boolean {
  return phase === "Moved" || (phase !== undefined && phase !== "BackingOff" && !isEnd(phase));
}

/** Returns the namespace and the name of the VM. Removes a prefix such as `vm/`. */
export function vmNamed(word: string, { namespace }: Connection): NamespacedName {
  return { namespace, name: word.replace(KIND.vm, "") };
}

const Review = z.object({ status: z.object({ userInfo: z.object({ username: z.string() }) }) });

async function askingOf(connection: Connection, host: Host): Promise<Requester> {
  return { requestedBy: await whoAmI(connection), cluster: connection.cluster(), now: host.now() };
}

async function whoAmI(connection: Connection): Promise<string> {
  const kind = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const { code, body } = await connection.send()({ method: "POST", path, body: kind, expect: [403, 404] });
  return code < 300 ? parseAnswer(Review, body, `POST ${path}`).status.userInfo.username : "";
}

interface Following extends With {
  readonly isReached: (status: EvacuationStatus) => boolean;
}

const POLL_MS = 1000;
/**
 * The time limit for Lifeboat's reaction, in seconds. If no relay reports changes to Lifeboat, Lifeboat reads requests
 * only once a minute.
 */
const TAKEN_UP_SECONDS = 90;

export async function followVm(
  evacuation: EvacuationFacts,
  { connection, host, isReached }: Following,
): Promise<ExitCode> {
  const began = host.now().getTime();
  const say = createNews(host);
  while (!host.interrupted.aborted) {
    const found = await find(evacuation, connection);
    say(lineOf(found));
    if (isReached(found.status)) return EXIT.done;
    if (isOver(found)) return EXIT.failed;
    const seconds = isTakenUp(found) ? 0 : (host.now().getTime() - began) / 1000;
    if (seconds > SILENT_SECONDS) say(MESSAGES.waiting);
    if (seconds > TAKEN_UP_SECONDS) throw new Failed(MESSAGES.notReactedYet(TAKEN_UP_SECONDS));
    await host.wait(POLL_MS);
  }
  return EXIT.interrupted;
}

/** Returns whether the Evacuation is over. A withdrawn Evacuation is over only after Lifeboat has cleaned up the VM. */
function isOver(found: EvacuationFacts): boolean {
  return found.spec.intent === "Withdrawn" ? !isUnfinished(found) : !isActive(found);
}

function isTakenUp({ spec, status }: EvacuationFacts): boolean {
  return status.phase !== undefined && spec.intent === "Evacuate";
}

async function find({ namespace, name, uid, spec }: EvacuationFacts, connection: Connection): Promise<EvacuationFacts> {
  const selected = selectEvacuationsOf({ namespace, name: spec.vmiName });
  const { items, unread } = await listAll(connection.cluster(), "evacuations", selected);
  const found = items.find((one) => one.uid === uid);
  if (found === undefined) throw notInList("Evacuation", name, unread);
  return found;
}

function createNews({ stderr }: Host): (line: string) => void {
  const said = new Set([""]);
  return (line) => {
    if (!said.has(line)) stderr.write(`${printable(line)}\n`);
    said.add(line);
  };
}

function lineOf({ status: { phase, reason, message } }: EvacuationFacts): string {
  const parts = [phase, reason && reason !== phase && `(${reason})`, message && `– ${message}`];
  return parts.filter(Boolean).join(" ");
}
