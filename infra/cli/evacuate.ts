/** `lifeboat evacuate`, `retry` and `cancel`: what a person asks of the evacuation of one VM. */
import * as z from "zod/mini";
import { parseAnswer } from "../../shared/cluster/read.ts";
import { cancelEvacuations, type Evacuating, evacuateVm, retryVm } from "../../shared/pass/api.ts";
import { isEnd, isToBeReleased } from "../../shared/policy/evacuation/phase.ts";
import type { EvacuationFacts, EvacuationStatus, NamespacedName } from "../../shared/policy/facts.ts";
import { FLAG, UsageError } from "../tools/console/arguments.ts";
import { type Command, COMMON_USAGE, connectionOf, formOf, readCommand } from "./command.ts";
import type { Connection } from "./connection.ts";
import { EXIT } from "./exit-code.ts";
import { Failed } from "./failed.ts";
import { follow } from "./follow.ts";

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

const KINDS = ["vm", "vms", "virtualmachine", "vmi", "vmis", "virtualmachineinstance"];

/** Of `web`, `vm web` or `vm/web`, with KubeVirt's names of both kinds: the VMI's name, which is that of its VM. */
function vmNameOf(words: readonly string[]): string {
  const [first = "", ...rest] = words.length === 1 ? (words[0] ?? "").split("/") : words;
  const isKind = rest.length > 0 && KINDS.includes(first.toLowerCase());
  const [name = "", ...more] = isKind ? rest : [first, ...rest];
  if (name === "") throw new UsageError("VM: expected the name of a virtual machine");
  if (more.length > 0) throw new UsageError(`VM: expected one name, got "${words.join(" ")}"`);
  return name;
}

const Review = z.object({ status: z.object({ userInfo: z.object({ username: z.string() }) }) });

/** Who the API server takes the caller for, named in what they ask for: every user may ask (system:basic-user). */
async function whoAmI(connection: Connection): Promise<string> {
  const kind = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const { code, body } = await connection.send()({ method: "POST", path, body: kind, expect: [403, 404] });
  return code < 300 ? parseAnswer(Review, body, `POST ${path}`).status.userInfo.username : "";
}
