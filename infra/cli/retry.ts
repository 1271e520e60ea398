/** `lifeboat retry`: has a failed evacuation tried again now. */
import { retryVm } from "../../shared/pass/api.ts";
import { isEnd } from "../../shared/policy/evacuation/phase.ts";
import type { EvacuationStatus } from "../../shared/policy/facts.ts";
import { type Command, COMMON_USAGE, connectionOf, readCommand } from "./command.ts";
import { goesOn } from "./evacuate.ts";
import { Failed } from "./failed.ts";
import { follow } from "./follow.ts";
import { vmNameOf } from "./vm-name.ts";
import { whoAmI } from "./who-am-i.ts";

export const retry: Command = {
  words: ["retry"],
  summary: "try a failed evacuation of a VM again, now",
  usage: `retry VM [-n NAMESPACE]

For a virtual machine whose evacuation backs off after a failed attempt, or was abandoned after the last one. The next attempt then starts
at once: Lifeboat creates the migration, or ends KubeVirt's own back-off for the one that KubeVirt has created. An abandoned evacuation
begins anew, and counts its attempts from one.

${COMMON_USAGE}

Exit code: 0 tried again, 1 not, for example because nothing has failed.
`,
  flags: {},
  async run(args, host, opened) {
    const { values, positionals } = readCommand(args, {});
    const name = vmNameOf(positionals);
    const connection = connectionOf(values, host, opened);
    const key = { namespace: connection.namespace, name };
    const requestedBy = await whoAmI(connection);
    const retrying = await retryVm(key, { requestedBy, cluster: connection.cluster(), now: host.now() });
    if (retrying.result === "NothingFailed")
      throw new Failed(`no evacuation of VM "${name}" in namespace "${key.namespace}" backs off or was abandoned`);
    const evacuation = goesOn(retrying, key);
    host.stdout.write(`evacuation.lifeboat.dev/${evacuation.name}\n`);
    return await follow(evacuation, { connection, host, isReached: isTried });
  },
};

function isTried({ phase }: EvacuationStatus): boolean {
  return phase === "Moved" || (phase !== undefined && phase !== "BackingOff" && !isEnd(phase));
}
