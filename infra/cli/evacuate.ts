/** `lifeboat evacuate` and `retry`: ask for the evacuation of one VM, the second one for another attempt. */
import { type Evacuating, evacuateVm, retryVm } from "../../shared/pass/evacuate.ts";
import { isEnd } from "../../shared/policy/evacuation/phase.ts";
import type { EvacuationFacts, EvacuationStatus, NamespacedName } from "../../shared/policy/facts.ts";
import { FLAG } from "../tools/console/arguments.ts";
import { type Command, COMMON_USAGE, connectionOf, formOf, readCommand } from "./command.ts";
import { EXIT } from "./exit-code.ts";
import { Failed } from "./failed.ts";
import { follow } from "./follow.ts";
import { vmNameOf } from "./vm-name.ts";
import { whoAmI } from "./who-am-i.ts";

const FLAGS = { wait: FLAG } as const;

export const evacuate: Command = {
  words: ["evacuate"],
  summary: "have a VM migrate away from its node",
  usage: `evacuate VM [-n NAMESPACE] [--wait] [-o name]

Creates an Evacuation for the virtual machine, which Lifeboat then has migrated to another node, and says when Lifeboat has taken it
up. One that is under way already is joined.

      --wait                  until it has ended
  -o, --output FORM           name: print the Evacuation's name, and wait for nothing
${COMMON_USAGE}

Exit code: 0 taken up, with --wait: moved; 1 not, for example because the VM cannot migrate.
`,
  flags: FLAGS,
  async run(args, host, opened) {
    const { values, positionals } = readCommand(args, FLAGS);
    const name = vmNameOf(positionals);
    const form = formOf(values.output, ["name"]);
    const connection = connectionOf(values, host, opened);
    const key = { namespace: connection.namespace, name };
    const requestedBy = await whoAmI(connection);
    const evacuating = await evacuateVm(key, { requestedBy, cluster: connection.cluster(), now: host.now() });
    const evacuation = goesOn(evacuating, key);
    host.stdout.write(`evacuation.lifeboat.dev/${evacuation.name}\n`);
    if (form === "name") return EXIT.done;
    const isReached = ({ phase }: EvacuationStatus) =>
      phase === "Moved" || (!values.wait && phase !== undefined && !isEnd(phase));
    return await follow(evacuation, { connection, host, isReached });
  },
};

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

function goesOn(evacuating: Evacuating, { namespace, name }: NamespacedName): EvacuationFacts {
  switch (evacuating.result) {
    case "NotRunning":
      throw new Failed(`VM "${name}" does not run in namespace "${namespace}"`);
    case "TryAgain":
      throw new Failed("another evacuation of this VM has ended meanwhile: try again");
    case "Begun":
    case "Joined":
      return evacuating.evacuation;
  }
}

function isTried({ phase }: EvacuationStatus): boolean {
  return phase === "Moved" || (phase !== undefined && phase !== "BackingOff" && !isEnd(phase));
}
