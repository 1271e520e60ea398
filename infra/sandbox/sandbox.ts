/**
 * A cluster in one process: an API server, the actors that bring it to life, and KubeVirt.
 * Owns: who is started as whom, in which order, and stopping all of it. Does not own: any behaviour.
 */
import { applyManifests } from "./manifests.ts";
import { createAuthority, type Authority } from "./certificates.ts";
import { startApiServer } from "./apiserver/server.ts";
import type { Actor, ActorOptions } from "./actors/actor.ts";
import { createClient, type KubeClient } from "./actors/client.ts";
import { systemClock, type Clock } from "./actors/clock.ts";
import { CONTROL_PLANE_RBAC, NODE_RBAC, SCHEDULER_RBAC } from "./actors/rbac.ts";
import { createIdentities, USERS, type Role } from "./identities.ts";
import { kubeconfigOf, kubeconfigText } from "./kubeconfig.ts";
import { KUBEVIRT_KINDS } from "./kubevirt/kinds.ts";
import { createEvacuationSwitch } from "./kubevirt/virt-controller/evacuation.ts";
import { createMigrationPlan, type MigrationPlan } from "./kubevirt/migration-plan.ts";
import { startControlPlane } from "./control-plane.ts";
import { startMachines } from "./machines.ts";

export interface SandboxOptions {
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** API server, disruption controller, garbage collector and token controller only; KubeVirt's kinds are known. */
  readonly empty?: boolean;
  readonly migrationSeconds?: number;
  /** How long a container takes to end after SIGTERM. */
  readonly terminationSeconds?: number;
  readonly evacuationController?: boolean;
  readonly clock?: Clock;
  /** Told what did not work for an actor and will be tried again. */
  readonly onError?: (error: unknown, key: string) => void;
}

export interface Sandbox {
  readonly url: string;
  readonly caPem: string;
  readonly adminToken: string;
  /** For user kubernetes-admin, group system:masters. */
  readonly kubeconfig: string;
  /** What the sandbox trusts; a Worker's serving certificate comes from here too. */
  readonly authority: Authority;
  readonly client: KubeClient;
  readonly migrations: Pick<MigrationPlan, "configure">;
  /** KubeVirt's own, which migrates what is marked; off unless asked for. */
  readonly evacuationController: { enabled: boolean };
  stop(): Promise<void>;
}

export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { port = 0, clock = systemClock, empty = false } = options;
  const authority = await createAuthority("lifeboat-sandbox");
  const identities = createIdentities();
  const server = await startApiServer({
    authority,
    port,
    tokens: identities.tokens,
    kinds: KUBEVIRT_KINDS,
    now: () => clock.now(),
  });
  const clients: KubeClient[] = [];
  const credentialsOf = (role: Role) => {
    const { user } = USERS[role];
    return { url: server.url, caPem: authority.caPem, user, token: identities.tokenOf(role) };
  };
  const clientOf = (role: Role): KubeClient => {
    const client = createClient(kubeconfigOf(credentialsOf(role)));
    clients.push(client);
    return client;
  };
  const optionsOf = (role: Role): ActorOptions => ({
    client: clientOf(role),
    clock,
    ...(options.onError && { onError: options.onError }),
  });

  const admin = clientOf("admin");
  const plan = createMigrationPlan(options.migrationSeconds);
  const evacuationController = createEvacuationSwitch(options.evacuationController ?? false);
  await applyManifests(admin, CONTROL_PLANE_RBAC);
  const actors: Actor[] = [startControlPlane(optionsOf, authority.caPem)];
  if (!empty) {
    await applyManifests(admin, [...SCHEDULER_RBAC, ...NODE_RBAC]);
    const { terminationSeconds = 1 } = options;
    actors.push(await startMachines({ admin, authority, optionsOf, plan, evacuationController, terminationSeconds }));
  }

  return {
    url: server.url,
    caPem: authority.caPem,
    adminToken: identities.tokenOf("admin"),
    kubeconfig: kubeconfigText(credentialsOf("admin")),
    authority,
    client: admin,
    migrations: plan,
    evacuationController,
    async stop() {
      for (const actor of actors.toReversed()) await actor.stop();
      for (const client of clients) client.close();
      await server.stop();
    },
  };
}
