/** Installs Lifeboat's certificate and tokens in a cluster, and reads the result. */
import * as z from "zod/mini";
import { giveIdentity, settle } from "../../../infra/cli/install/identity.ts";
import { type Inside, isWebhook } from "../../../infra/cli/install/plan.ts";
import { applyAsCommand, sendOver } from "../../../infra/lab/stage/apply.ts";
import { inClusterManifests, SERVER } from "../../../infra/lab/stage/in-cluster.ts";
import { type Sandbox, secrets } from "../../../infra/sandbox/index.ts";
import { mutatingConfigurations, webhookConfigurations } from "../../../infra/lab/stage/webhooks.ts";
import { machineOf } from "../../support/cli/machine.ts";

export const OPTIONAL = ["optional/guard/guard.yaml"];
export const WEBHOOKS = [
  { resource: webhookConfigurations, name: "lifeboat" },
  { resource: mutatingConfigurations, name: "lifeboat-guard" },
] as const;

const Configuration = z.object({
  webhooks: z.tuple([
    z.object({
      clientConfig: z.object({
        caBundle: z._default(z.string(), ""),
        service: z.object({ path: z._default(z.string(), "") }),
      }),
    }),
  ]),
});

export interface State {
  readonly certificate: string;
  readonly keys: readonly string[];
  readonly webhookToken: string;
  readonly paths: readonly string[];
  readonly caBundles: readonly string[];
  readonly versions: readonly unknown[];
}

export async function readState({ client }: Pick<Sandbox, "client">): Promise<State> {
  const secret = await client.get(secrets, SERVER);
  const data = secret?.data ?? {};
  const text = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
  const objects = await Promise.all(WEBHOOKS.map(({ resource, name }) => client.get(resource, { name })));
  const configs = objects.flatMap((one) => Configuration.safeParse(one).data?.webhooks[0].clientConfig ?? []);
  return {
    certificate: text("tls.crt"),
    keys: Object.keys(data).toSorted(),
    webhookToken: text("webhookToken"),
    paths: configs.map(({ service }) => service.path),
    caBundles: configs.map(({ caBundle }) => caBundle),
    versions: [secret, ...objects].map((one) => one?.metadata.resourceVersion),
  };
}

export interface Installing {
  readonly now?: Date;
  readonly ca?: string;
  readonly certManager?: boolean;
  readonly meanwhile?: () => unknown;
}

const planned = (to: Inside) => inClusterManifests(OPTIONAL, to).filter(isWebhook);

/**
 * Runs the steps of `lifeboat install` for the certificate and the tokens. Resolves to the state at each wait and at
 * the end.
 */
export async function installIn({ client }: Pick<Sandbox, "client">, how: Installing = {}) {
  const { now = new Date(), ca, certManager = false, meanwhile } = how;
  const home: Inside = { in: "Cluster", image: "lifeboat", certManager };
  const apply = (to: Inside) => applyAsCommand(client, planned(to));
  const waits: State[] = [];
  const { host } = machineOf({ started: now });
  const wait = async (milliseconds: number) => {
    waits.push(await readState({ client }));
    await host.wait(milliseconds);
    await meanwhile?.();
  };
  const send = () => sendOver(client);
  const giving = { send, host: { ...host, wait }, seconds: 1, ca, webhooks: planned(home), apply };
  const given = await giveIdentity(home, giving);
  await apply(given.home);
  await settle(given, giving);
  return { waits, end: await readState({ client }) };
}
