/** `lifeboat cancel`: cancels the maintenance of nodes, or the evacuation of VMs. */
import { type Cancelling, cancelEvacuations } from "../../shared/act/evacuate-vm.ts";
import { type EvacuationStatus, isToBeReleased } from "../../shared/kube/evacuation.ts";
import { type Add, agree, EXIT, type ExitCode, KIND, nameMatching, type With, YES } from "./command.ts";
import type { NamespacedName } from "../../shared/kube/facts.ts";
import { followVm, newestOf, vmNamed } from "./evacuate.ts";
import { Failed } from "./failed.ts";
import { cancelMaintenance, namesIn } from "./maintenance.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";
import { SELECTOR } from "./preflight.ts";
import { NO_TARGETS, targetsOf, targetWords, WORDS } from "./targets.ts";

export const cancel: Add = (program, { host, connect, ends }) => {
  program
    .command("cancel")
    .description(
      `vm/NAME: withdraws every evacuation of the virtual machine, and waits until Lifeboat has ended them. A migration
that already moves the guest can still finish. A drain in progress would evacuate the VM again: cancel the drain or uncordon the node first.
A node, nodeevacuation/NAME or rollm/NAME: ends the maintenance, uncordons its nodes, and starts VMs that were stopped for it.

Exit code: 0 everything is withdrawn, 1 something is not withdrawn.`,
    )
    .argument("[what...]", `vm/web; ${WORDS}`, wordOfBoth, [])
    .option(...SELECTOR)
    .option(...YES)
    .action(
      ends(async (words, { selector, ...options }) => {
        const connection = connect();
        const vms = words.filter(isVm).map((word) => vmNamed(word, connection));
        const others = words.filter((word) => !isVm(word));
        const isOfVms = vms.length > 0 && others.length === 0 && selector === undefined;
        const targets = isOfVms ? NO_TARGETS : await targetsOf({ words: others, selector }, connection);
        const named = [...namesIn(targets), ...vms.map(MESSAGES.evacuationOf)];
        await agree(MESSAGES.change("Cancel", named), options, { connection, host });
        const code = isOfVms ? EXIT.done : await cancelMaintenance(targets, { connection, host });
        return code === EXIT.done ? await cancelVms(vms, { connection, host }) : code;
      }),
    );
};

async function cancelVms(vms: readonly NamespacedName[], { connection, host }: With): Promise<ExitCode> {
  for (const key of vms) {
    const code = await cancelVm(key, { connection, host });
    if (code !== EXIT.done) return code;
  }
  return EXIT.done;
}

async function cancelVm(key: NamespacedName, { connection, host }: With): Promise<ExitCode> {
  const settings = await connection.settings();
  const cancelling = await cancelEvacuations(key, { cluster: connection.cluster(), settings, now: host.now() });
  if (cancelling.result === "NotEvacuating") {
    throw new Failed(MESSAGES.nothingEvacuates(key, await newestOf(key, connection)));
  }
  for (const evacuation of withdrawn(cancelling, settings.drainTaintKey)) {
    const code = await followVm(evacuation, { connection, host, isReached: isCancelled });
    if (code !== EXIT.done) return code;
    host.stdout.write(`${MESSAGES.changed(MESSAGES.evacuation(evacuation.name), "withdrawn")}\n`);
  }
  return EXIT.done;
}

function withdrawn(cancelling: Exclude<Cancelling, { readonly result: "NotEvacuating" }>, taint: string) {
  if (cancelling.result === "Withdrawn") return cancelling.evacuations;
  throw new Failed(MESSAGES.drainTaint(cancelling.node, taint));
}

function isCancelled(status: EvacuationStatus): boolean {
  const { phase } = status;
  return (phase === "Withdrawn" && !isToBeReleased({ status })) || phase === "Duplicate";
}

function isVm(word: string): boolean {
  return KIND.vm.test(word);
}

function wordOfBoth(text: string, before: readonly string[]): readonly string[] {
  if (!isVm(text)) return targetWords(text, before);
  nameMatching("VM", KIND.vm)(text);
  return [...new Set([...before, text])];
}
