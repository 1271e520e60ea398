/** Starts two sandbox clusters. They differ only in the part of Lifeboat that the demo shows. */
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSecretFile } from "../../cli/secret-file.ts";
import type { KubeClient, Sandbox } from "../../sandbox/index.ts";
import { buildImage } from "../../tools/build-image.ts";
import { buildWorker } from "../../tools/build-worker.ts";
import { configureLifeboat } from "../stage/apply.ts";
import { type LifeboatBeside, startBeside } from "../stage/beside.ts";
import { startSandboxAsChosen } from "../stage/control-plane.ts";
import { serverImages } from "../stage/in-cluster.ts";
import { installInCluster } from "./in-cluster.ts";
import type { Act } from "./scenario.ts";

export interface Pair<T> {
  readonly without: T;
  readonly withIt: T;
}

export async function both<T, U>({ without, withIt }: Pair<T>, to: (of: T) => Promise<U>): Promise<Pair<U>> {
  const [first, second] = await Promise.all([to(without), to(withIt)]);
  return { without: first, withIt: second };
}

export interface Cluster extends Pick<Sandbox, "stats"> {
  readonly client: KubeClient;
  readonly server: string;
  readonly kubeconfig: string;
  /** The running Lifeboat, outside of the cluster or in it. Absent for a cluster without Lifeboat. */
  readonly lifeboat?: LifeboatBeside | undefined;
  stop(): Promise<void>;
}

export type Configuration = Readonly<Record<string, unknown>>;

export function lifeboatOf({ lifeboat, server }: Cluster): LifeboatBeside {
  if (lifeboat === undefined) throw new Error(`the cluster ${server} has no Lifeboat`);
  return lifeboat;
}

const MIGRATION_SECONDS = 2;

export async function startClusters(act: Act, inCluster: boolean): Promise<Pair<Cluster>> {
  await (inCluster ? buildImage() : buildWorker());
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  // Deletes the folder even if this process is interrupted. Its kubeconfig contains an administrator's token.
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return await both({ without: "without", withIt: "withIt" } as const, async (side) => {
    const images = inCluster ? serverImages() : new Map<never, never>();
    const own = { workloads: true, migrationSeconds: MIGRATION_SECONDS, images, ...act.sandbox } as const;
    const sandbox = await startSandboxAsChosen(own);
    const { client, stats, url: server } = sandbox;
    if (act.outcome !== undefined) sandbox.migrations.configure({ outcome: act.outcome });
    const configuration = act.lifeboat[side];
    const install = inCluster ? installInCluster : startBeside;
    const lifeboat = configuration && (await install(sandbox, act.optional));
    if (configuration !== undefined) await configureLifeboat(client, configuration);
    const kubeconfig = join(folder, `${side === "withIt" ? "with" : "without"}-lifeboat.kubeconfig`);
    await createSecretFile(kubeconfig, sandbox.kubeconfig);
    return {
      client,
      stats,
      server,
      kubeconfig,
      lifeboat,
      async stop() {
        await lifeboat?.stop();
        await sandbox.stop();
      },
    };
  });
}
