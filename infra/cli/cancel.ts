/** `lifeboat cancel`: ends the maintenance of nodes, or the evacuation of VMs. */
import { type Cancelling, cancelEvacuations } from "../../shared/act/evacuate-vm.ts";
import { type EvacuationStatus, isToBeReleased } from "../../shared/kube/evacuation.ts";
import { type Add, EXIT, type ExitCode, KIND, nameMatching } from "./command.ts";
import type { Connection } from "./connection.ts";
import { followVm, newestOf, vmNamed } from "./evacuate.ts";
import { Failed } from "./failed.ts";
import type { Host } from "./host.ts";
import { cancelMaintenance } from "./maintenance.ts";
import { SELECTOR } from "./preflight.ts";
import { targetsOf, targetWords, WORDS } from "./targets.ts";

export const cancel: Add = (program, { host, connectToChange, ends }) => {
  program
    .command("cancel")
    .description(
      `vm/NAME: withdraws every evacuation of the virtual machine, and waits until Lifeboat has ended them. A migration that moves
the guest already is left to finish. A drain that continues asks again: cancel it, or uncordon the node, first.
A node, nodeevacuation/NAME or rollm/NAME: ends the maintenance, uncordons its nodes, and starts VMs that were stopped for it.

Exit code: 0 withdrawn, 1 not.`,
    )
    .argument("[what...]", `vm/web; ${WORDS}`, wordOfBoth, [])
    .option(...SELECTOR)
    .action(
      ends(async (words, { selector }) => {
        const [vms, others] = [words.filter((one) => KIND.vm.test(one)), words.filter((one) => !KIND.vm.test(one))];
        if (others.length > 0 || selector !== undefined || vms.length === 0) {
          const connection = connectToChange();
          const code = await cancelMaintenance(await targetsOf({ words: others, selector }, connection), {
            connection,
            host,
          });
          if (code !== EXIT.done) return code;
        }
        for (const word of vms) {
          const code = await cancelVm(word.replace(KIND.vm, ""), connectToChange, host);
          if (code !== EXIT.done) return code;
        }
        return EXIT.done;
      }),
    );
};

async function cancelVm(name: string, connect: () => Connection, host: Host): Promise<ExitCode> {
  const [connection, key] = vmNamed(name, connect);
  const settings = await connection.settings();
  const cancelling = await cancelEvacuations(key, { cluster: connection.cluster(), settings, now: host.now() });
  if (cancelling.result === "NotEvacuating") {
    throw new Failed(
      `nothing evacuates VM "${key.name}" in namespace "${key.namespace}"${await newestOf(key, connection)}`,
    );
  }
  for (const evacuation of withdrawn(cancelling, settings.drainTaintKey)) {
    const code = await followVm(evacuation, { connection, host, isReached: isCancelled });
    if (code !== EXIT.done) return code;
    host.stdout.write(`evacuation.lifeboat.dev/${evacuation.name} withdrawn\n`);
  }
  return EXIT.done;
}

function withdrawn(cancelling: Exclude<Cancelling, { readonly result: "NotEvacuating" }>, taint: string) {
  if (cancelling.result === "Withdrawn") return cancelling.evacuations;
  const { node } = cancelling;
  const why = `node "${node}" carries the drain taint ${taint}, which would start it again`;
  throw new Failed(`${why}: kubectl taint node ${node} ${taint}- first`);
}

function isCancelled(status: EvacuationStatus): boolean {
  const { phase } = status;
  return (phase === "Withdrawn" && !isToBeReleased({ status })) || phase === "Duplicate";
}

function wordOfBoth(text: string, before: readonly string[]): readonly string[] {
  if (!KIND.vm.test(text)) return targetWords(text, before);
  nameMatching("VM", KIND.vm)(text);
  return [...new Set([...before, text])];
}
