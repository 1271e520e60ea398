/** `lifeboat cancel`: withdraws what evacuates a VM. */
import { cancelEvacuations } from "../../shared/pass/api.ts";
import { isToBeReleased } from "../../shared/policy/evacuation/phase.ts";
import type { EvacuationStatus } from "../../shared/policy/facts.ts";
import { type Command, COMMON_USAGE, connectionOf, readCommand } from "./command.ts";
import { EXIT } from "./exit-code.ts";
import { Failed } from "./failed.ts";
import { follow } from "./follow.ts";
import { vmNameOf } from "./vm-name.ts";

export const cancel: Command = {
  words: ["cancel"],
  summary: "stop the evacuation of a VM",
  usage: `cancel VM [-n NAMESPACE]

Withdraws every evacuation of the virtual machine, and waits until Lifeboat has ended them. A migration that moves the guest already
is left to finish. A drain that goes on asks again: uncordon the node, or stop the drain, first.

${COMMON_USAGE}

Exit code: 0 withdrawn, 1 not.
`,
  flags: {},
  async run(args, host, opened) {
    const { values, positionals } = readCommand(args, {});
    const name = vmNameOf(positionals);
    const connection = connectionOf(values, host, opened);
    const key = { namespace: connection.namespace, name };
    const settings = await connection.settings();
    const cancelling = await cancelEvacuations(key, { cluster: connection.cluster(), settings, now: host.now() });
    switch (cancelling.result) {
      case "NotEvacuating":
        throw new Failed(`nothing evacuates VM "${name}" in namespace "${key.namespace}"`);
      case "DrainTaint": {
        const { node } = cancelling;
        const taint = `node "${node}" carries the drain taint ${settings.drainTaintKey}, which would begin it again`;
        throw new Failed(`${taint}: kubectl taint node ${node} ${settings.drainTaintKey}- first`);
      }
      case "Withdrawn": {
        for (const evacuation of cancelling.evacuations) {
          const code = await follow(evacuation, { connection, host, isReached: isCancelled });
          if (code !== EXIT.done) return code;
          host.stdout.write(`evacuation.lifeboat.dev/${evacuation.name} withdrawn\n`);
        }
        return EXIT.done;
      }
    }
  },
};

function isCancelled(status: EvacuationStatus): boolean {
  const { phase } = status;
  return (phase === "Withdrawn" && !isToBeReleased({ status })) || phase === "Duplicate";
}
