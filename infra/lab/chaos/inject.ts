/** Faults of the API server: whose requests they meet. */
import { setTimeout as delay } from "node:timers/promises";
import type { Effect, FaultMatch } from "../../sandbox/apiserver/faults.ts";
import { USERS } from "../../sandbox/identities.ts";
import { simulatedIn } from "./arena.ts";
import type { Whom } from "./moment.ts";
import type { Stage } from "./stage.ts";

const LIFEBOAT = ["lifeboat", "lifeboat-relay"].map((name) => `system:serviceaccount:lifeboat-system:${name}`);
/** KubeVirt's marks, which Lifeboat asks for. */
const MARKING: FaultMatch = { users: [USERS.virtApi.user], verbs: ["patch"] };
/** Without the admin, who looks on, and virt-api, whose webhook allows an eviction when it cannot read the pod. */
const EVERYBODY = [
  ...LIFEBOAT,
  ...Object.values(USERS)
    .map(({ user }) => user)
    .filter((user) => user !== USERS.admin.user && user !== USERS.virtApi.user),
];

const MATCHES: Readonly<Record<Whom, readonly FaultMatch[]>> = {
  Lifeboat: [{ users: LIFEBOAT }, MARKING],
  Everybody: [{ users: EVERYBODY }, MARKING],
  Evictions: [{ webhooks: ["evictions.lifeboat.dev"] }],
};

interface Injection {
  readonly whom: Whom;
  readonly effect: Effect;
  readonly probability: number;
  readonly verbs?: readonly string[];
}

/** Lifeboat's own requests. */
export async function refuseToken(ms: number, { arena }: Stage): Promise<void> {
  const accept = simulatedIn(arena).apiServer.faults.inject({
    effect: { type: "Error", code: 401 },
    match: { users: LIFEBOAT },
  });
  await delay(ms);
  accept();
}

export function inject({ whom, effect, probability, verbs }: Injection, { arena }: Stage): void {
  for (const match of MATCHES[whom]) {
    const either = verbs?.filter((verb) => match.verbs?.includes(verb) ?? true) ?? match.verbs;
    simulatedIn(arena).apiServer.faults.inject({
      effect,
      probability,
      match: { ...match, ...(either && { verbs: either }) },
    });
  }
}
