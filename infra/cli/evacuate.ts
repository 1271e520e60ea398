/**
 * `lifeboat evacuate`: asks for the evacuation of one VM.
 * Owns: creating the Evacuation. Does not own: what becomes of it (shared/policy/evacuation).
 */
import * as z from "zod/mini";
import { activeEvacuation, newEvacuation } from "../../shared/policy/evacuation/identity.ts";
import { isEnd } from "../../shared/policy/evacuation/phase.ts";
import type { EvacuationFacts, EvacuationStatus, NamespacedName } from "../../shared/policy/facts.ts";
import { FLAG } from "../tools/console/arguments.ts";
import { type Command, COMMON_USAGE, connectionOf, formOf, readCommand } from "./command.ts";
import type { Connection } from "./connection.ts";
import { EXIT } from "./exit-code.ts";
import { Failed } from "./failed.ts";
import { follow } from "./follow.ts";
import type { Host } from "./host.ts";
import { vmNameOf } from "./vm-name.ts";

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
    const evacuation = await begin({ namespace: connection.namespace, name }, connection, host);
    host.stdout.write(`evacuation.lifeboat.dev/${evacuation.name}\n`);
    if (form === "name") return EXIT.done;
    const isReached = ({ phase }: EvacuationStatus) =>
      phase === "Moved" || (!values.wait && phase !== undefined && !isEnd(phase));
    return await follow(evacuation, { connection, host, isReached });
  },
};

/** One that another person or a drain creates at the same time is joined. */
async function begin(key: NamespacedName, connection: Connection, host: Host): Promise<EvacuationFacts> {
  const cluster = connection.cluster();
  const [vmi, requestedBy] = await Promise.all([cluster.getVmi(key), whoAmI(connection)]);
  const evacuations = await cluster.listEvacuations(key);
  if (vmi === undefined) throw new Failed(`VM "${key.name}" does not run in namespace "${key.namespace}"`);
  const active = activeEvacuation(vmi, evacuations);
  if (active !== undefined) return active;
  const beginning = { cause: "Operator", requestedBy } as const;
  const created = await cluster.createEvacuation(newEvacuation(vmi, beginning, { evacuations, now: host.now() }));
  if (created === "Conflict") throw new Failed("another evacuation of this VM has ended meanwhile: try again");
  return created;
}

const Review = z.object({ status: z.object({ userInfo: z.object({ username: z.string() }) }) });

/** Every user may ask (system:basic-user). */
async function whoAmI(connection: Connection): Promise<string> {
  const kind = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const { code, body } = await connection.send()({ method: "POST", path, body: kind, expect: [403, 404] });
  return code < 300 ? Review.parse(body).status.userInfo.username : "";
}
