/** `lifeboat evacuate`, `retry` and `cancel`: what a person asks of the evacuation of one VM, followed until it has come about. */
import { parseAnswer } from "../../shared/kube/read.ts";
import { evacuationsOf } from "../../shared/kube/selections.ts";
import {
  type Asking,
  type Cancelling,
  cancelEvacuations,
  type Evacuating,
  evacuateVm,
  retryVm,
} from "../../shared/evacuation/api.ts";
import {
  type EvacuationFacts,
  type EvacuationStatus,
  isActive,
  isEnd,
  isToBeReleased,
  isUnfinished,
} from "../../shared/kube/evacuation.ts";
import type { NamespacedName } from "../../shared/kube/facts.ts";
import { UsageError } from "../tools/console/arguments.ts";
import { type CommandUnknownOpts } from "@commander-js/extra-typings";
import { type Add, EXIT, output, type ExitCode } from "./command.ts";
import { type Connection } from "./connection.ts";
import { Failed } from "./failed.ts";
import { type Host } from "./host.ts";
import { plain } from "./print.ts";
import * as z from "zod/mini";

/** A command about one VM, which a person names as kubectl takes it. */
function ofVm(program: CommandUnknownOpts, name: string, summary: string, description: string) {
  const command = program.command(name).summary(summary).description(description);
  return command.argument("<vm>", "web or vm/web");
}

export const evacuate: Add = (program, { host, connect, ends }) => {
  ofVm(
    program,
    "evacuate",
    "have a VM migrate away from its node",
    `Creates an Evacuation for the virtual machine, which Lifeboat then has migrated to another node, and says when
Lifeboat has taken it up. One that is under way already is joined.

Exit code: 0 taken up, with --wait: moved; 1 not, for example because the VM cannot migrate.`,
  )
    .option("--wait", "until it has ended")
    .addOption(output(["name"], "print the Evacuation's name, and wait for nothing"))
    .action(
      ends(async (word, { wait, output: form }) => {
        const [connection, key] = vmOf(word, connect);
        const evacuation = goesOn(await evacuateVm(key, await askingOf(connection, host)), key);
        host.stdout.write(`evacuation.lifeboat.dev/${evacuation.name}\n`);
        if (form === "name") return EXIT.done;
        const isReached = ({ phase }: EvacuationStatus) =>
          phase === "Moved" || (!wait && phase !== undefined && !isEnd(phase));
        return await follow(evacuation, { connection, host, isReached });
      }),
    );
};

export const retry: Add = (program, { host, connect, ends }) => {
  ofVm(
    program,
    "retry",
    "try a failed evacuation of a VM again, now",
    `For a virtual machine whose evacuation backs off after a failed attempt, or was abandoned after the last one. The
next attempt then starts at once: Lifeboat creates the migration, or ends KubeVirt's own back-off for the one that KubeVirt
has created. An abandoned evacuation begins anew, and counts its attempts from one.

Exit code: 0 tried again, 1 not, for example because nothing has failed.`,
  ).action(
    ends(async (word) => {
      const [connection, key] = vmOf(word, connect);
      const evacuation = goesOn(await retryVm(key, await askingOf(connection, host)), key);
      host.stdout.write(`evacuation.lifeboat.dev/${evacuation.name}\n`);
      return await follow(evacuation, { connection, host, isReached: isTried });
    }),
  );
};

function goesOn(
  evacuating: Evacuating | { readonly result: "NothingFailed" },
  { namespace, name }: NamespacedName,
): EvacuationFacts {
  switch (evacuating.result) {
    case "NotRunning":
      throw new Failed(`VM "${name}" does not run in namespace "${namespace}"`);
    case "NothingFailed":
      throw new Failed(`no evacuation of VM "${name}" in namespace "${namespace}" backs off or was abandoned`);
    case "TryAgain":
      throw new Failed("another evacuation of this VM has ended meanwhile: try again");
    case "Started":
    case "Joined":
      return evacuating.evacuation;
  }
}

function isTried({ phase }: EvacuationStatus): boolean {
  return phase === "Moved" || (phase !== undefined && phase !== "BackingOff" && !isEnd(phase));
}

export const cancel: Add = (program, { host, connect, ends }) => {
  ofVm(
    program,
    "cancel",
    "stop the evacuation of a VM",
    `Withdraws every evacuation of the virtual machine, and waits until Lifeboat has ended them. A migration that moves
the guest already is left to finish. A drain that goes on asks again: uncordon the node, or stop the drain, first.

Exit code: 0 withdrawn, 1 not.`,
  ).action(
    ends(async (word) => {
      const [connection, key] = vmOf(word, connect);
      const settings = await connection.settings();
      const cancelling = await cancelEvacuations(key, { cluster: connection.cluster(), settings, now: host.now() });
      for (const evacuation of withdrawn(cancelling, key, settings.drainTaintKey)) {
        const code = await follow(evacuation, { connection, host, isReached: isCancelled });
        if (code !== EXIT.done) return code;
        host.stdout.write(`evacuation.lifeboat.dev/${evacuation.name} withdrawn\n`);
      }
      return EXIT.done;
    }),
  );
};

function withdrawn(cancelling: Cancelling, { namespace, name }: NamespacedName, taint: string) {
  switch (cancelling.result) {
    case "NotEvacuating":
      throw new Failed(`nothing evacuates VM "${name}" in namespace "${namespace}"`);
    case "DrainTaint": {
      const { node } = cancelling;
      const why = `node "${node}" carries the drain taint ${taint}, which would begin it again`;
      throw new Failed(`${why}: kubectl taint node ${node} ${taint}- first`);
    }
    case "Withdrawn":
      return cancelling.evacuations;
  }
}

function isCancelled(status: EvacuationStatus): boolean {
  const { phase } = status;
  return (phase === "Withdrawn" && !isToBeReleased({ status })) || phase === "Duplicate";
}

/** With KubeVirt's names of both kinds: the VMI's name is that of its VM. */
function vmOf(word: string, connect: () => Connection): readonly [Connection, NamespacedName] {
  const [, name] = /^(?:(?:vmi?s?|virtualmachine(?:instance)?)\/)?([^/]+)$/i.exec(word) ?? [];
  if (name === undefined) throw new UsageError(`VM: expected the name of a virtual machine, got "${word}"`);
  const connection = connect();
  return [connection, { namespace: connection.namespace, name }];
}

const Review = z.object({ status: z.object({ userInfo: z.object({ username: z.string() }) }) });

async function askingOf(connection: Connection, host: Host): Promise<Asking> {
  return { requestedBy: await whoAmI(connection), cluster: connection.cluster(), now: host.now() };
}

/** Who the API server takes the caller for, named in what they ask for: every user may ask (system:basic-user). */
async function whoAmI(connection: Connection): Promise<string> {
  const kind = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const { code, body } = await connection.send()({ method: "POST", path, body: kind, expect: [403, 404] });
  return code < 300 ? parseAnswer(Review, body, `POST ${path}`).status.userInfo.username : "";
}

interface Following {
  readonly connection: Connection;
  readonly host: Host;
  /** Whether what was asked for has come about, so far as the person wants to wait. */
  readonly isReached: (status: EvacuationStatus) => boolean;
}

const LOOK_MS = 1000;
/** Without a relay the tick of every minute takes it up. */
const TAKEN_UP_SECONDS = 90;

async function follow(evacuation: EvacuationFacts, { connection, host, isReached }: Following): Promise<ExitCode> {
  const until = host.now().getTime() + TAKEN_UP_SECONDS * 1000;
  const say = sayer(host);
  while (!host.interrupted.aborted) {
    const found = await find(evacuation, connection);
    if (found === undefined) throw new Failed(`Evacuation ${evacuation.name} has been removed`);
    say(found);
    if (isReached(found.status)) return EXIT.done;
    if (isOver(found)) return EXIT.failed;
    if (!isTakenUp(found) && host.now().getTime() > until) {
      const nothing = `nothing has taken this up for ${TAKEN_UP_SECONDS} s: is Lifeboat running? \`lifeboat doctor\` looks.`;
      throw new Failed(`${nothing} The Evacuation stays: Lifeboat takes it up when it runs.`);
    }
    await host.wait(LOOK_MS);
  }
  return EXIT.interrupted;
}

/** What was cancelled is over once its mark and migration are taken back, too. */
function isOver(found: EvacuationFacts): boolean {
  return found.spec.intent === "Withdrawn" ? !isUnfinished(found) : !isActive(found);
}

/** One that is withdrawn ends as soon as it is looked at. */
function isTakenUp({ spec, status }: EvacuationFacts): boolean {
  return status.phase !== undefined && spec.intent === "Evacuate";
}

async function find(evacuation: EvacuationFacts, connection: Connection): Promise<EvacuationFacts | undefined> {
  const vmi: NamespacedName = { namespace: evacuation.namespace, name: evacuation.spec.vmiName };
  return (await evacuationsOf(vmi, connection.cluster())).find(({ uid }) => uid === evacuation.uid);
}

/** Says what has changed. */
function sayer({ stderr }: Host): (evacuation: EvacuationFacts) => void {
  let told: string | undefined;
  return ({ status: { phase, reason, message } }) => {
    const line = [phase, reason && reason !== phase && `(${reason})`, message && `– ${message}`]
      .filter(Boolean)
      .join(" ");
    if (line !== "" && line !== told) stderr.write(`${plain(line)}\n`);
    told = line;
  };
}
