/** An API server in a process of its own: who may ask it, and what it uses. */
import { randomBytes } from "node:crypto";
import * as z from "zod";
import { createClient, type KubeClient } from "../../sandbox/actors/client.ts";
import { USERS } from "../../sandbox/identities.ts";
import { kubeconfigOf } from "../../sandbox/kubeconfig.ts";
import { KUBEVIRT, KUBEVIRT_RBAC } from "../../sandbox/kubevirt/manifests.ts";
import { applyManifests } from "../../sandbox/manifests.ts";
import { manifestsIn } from "../../cli/install/manifests.ts";
import { configureLifeboat, definitions } from "../stage/apply.ts";
import { numbered } from "../../tools/in-parallel.ts";
import { startChild } from "./child.ts";

const Started = z.object({ url: z.string(), caPem: z.string(), slowUrls: z.array(z.string()) });
const Usage = z.object({
  rss: z.number(),
  heapUsed: z.number(),
  peakRss: z.number(),
  cpuMs: z.number(),
  requests: z.number(),
});

export interface MeasuredApiServer {
  readonly url: string;
  readonly caPem: string;
  /** The same server behind slower networks, in the order of `roundTripMs`. */
  readonly slowUrls: readonly string[];
  /** As an administrator. */
  readonly client: KubeClient;
  /** Of Lifeboat's service account, with the permissions it is shipped with. */
  readonly lifeboatToken: string;
  /** All tokens of that account. */
  readonly lifeboatTokens: readonly string[];
  usage(): Promise<z.output<typeof Usage>>;
  /** Ends every connection, and listens again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const LIFEBOAT = {
  user: "system:serviceaccount:lifeboat-system:lifeboat",
  groups: ["system:serviceaccounts", "system:serviceaccounts:lifeboat-system"],
};

const SHIPPED = ["namespace.yaml", "serviceaccount.yaml", "rbac.yaml"];

export interface MeasuredApiServerOptions {
  readonly roundTripMs?: readonly number[];
  /** How old everything in it is to be: its clock is so far behind. */
  readonly ageSeconds?: number;
  /** So many tokens of Lifeboat's account; 1 unless told otherwise. */
  readonly tokens?: number;
}

export async function startMeasuredApiServer(options: MeasuredApiServerOptions = {}): Promise<MeasuredApiServer> {
  const { roundTripMs = [], ageSeconds = 0, tokens: count = 1 } = options;
  const adminToken = randomBytes(24).toString("hex");
  const lifeboatToken = randomBytes(24).toString("hex");
  const lifeboatTokens = [lifeboatToken, ...numbered(count - 1).map(() => randomBytes(24).toString("hex"))];
  const tokens = {
    [adminToken]: USERS.admin,
    ...Object.fromEntries(lifeboatTokens.map((token) => [token, LIFEBOAT])),
  };
  const child = startChild("api-server-process.ts", { tokens, roundTripMs, ageSeconds });
  const started = await child.next(Started);
  const client = createClient(kubeconfigOf({ ...started, user: USERS.admin.user, token: adminToken }));
  return {
    ...started,
    client,
    lifeboatToken,
    lifeboatTokens,
    usage: () => child.ask("usage", Usage),
    restart: async () => void (await child.ask("restart", Usage)),
    async stop() {
      client.close();
      await child.stop();
    },
  };
}

/** KubeVirt's and Lifeboat's accounts and objects, without anything that acts. `optional`: more of what is shipped. */
export async function installLifeboat(
  client: KubeClient,
  configuration: Readonly<Record<string, unknown>>,
  optional: readonly string[] = [],
): Promise<void> {
  const shipped = [...SHIPPED, ...optional].flatMap((file) => manifestsIn(`kubernetes/${file}`));
  await applyManifests(client, [...KUBEVIRT_RBAC, KUBEVIRT, ...definitions(), ...shipped]);
  await configureLifeboat(client, configuration);
}
