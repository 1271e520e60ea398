/**
 * Lifeboat in a sandbox's cluster, as shipped: infra/server/kubernetes, whose pods are processes of this machine.
 * Owns: what kustomize would do with these manifests, how the image runs here. Does not own: manifests, the server.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load, loadAll } from "js-yaml";
import * as z from "zod/mini";
import type { KubeClient } from "../sandbox/actors/client.ts";
import type { Manifest } from "../sandbox/actors/rbac.ts";
import { applyManifests } from "../sandbox/manifests.ts";
import type { Container, Images, Program } from "../sandbox/processes/images.ts";
import { readManifests, shippedFiles } from "./apply.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = `${root}infra/server/kubernetes/component/`;
export const SERVER = { namespace: "lifeboat-system", name: "lifeboat-server" } as const;

const Manifests = z.array(
  z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata: z.looseObject({ name: z.string() }) }),
);
const Component = z.object({
  resources: z.array(z.string()),
  patches: z.array(z.object({ target: z.optional(z.object({ kind: z.string() })), patch: z.string() })),
});
const Removal = z.object({ kind: z.string(), metadata: z.object({ name: z.string() }), $patch: z.literal("delete") });
const Replacement = z.array(
  z.object({ op: z.literal("replace"), path: z.literal("/webhooks/0/clientConfig"), value: z.unknown() }),
);
const Deployment = z.object({
  spec: z.object({
    template: z.object({ spec: z.object({ containers: z.array(z.looseObject({ image: z.string() })) }) }),
  }),
});

/** `optional`: further files of infra/kubernetes. */
export function inClusterManifests(optional: readonly string[] = []): readonly Manifest[] {
  const { resources, patches } = Component.parse(load(read("kustomization.yaml")));
  const base = shippedFiles(optional).flatMap(readManifests);
  const own = resources.flatMap((file) => Manifests.parse(loadAll(read(file)))) as readonly Manifest[];
  return patches.reduce<readonly Manifest[]>(patched, [...base, ...own]);
}

/** The two patches that the component has. */
function patched(manifests: readonly Manifest[], { target, patch }: z.output<typeof Component>["patches"][number]) {
  if (target === undefined) {
    const { kind, metadata } = Removal.parse(load(patch));
    return manifests.filter((one) => one.kind !== kind || one.metadata.name !== metadata.name);
  }
  const [{ value } = { value: undefined }] = Replacement.parse(load(patch));
  return manifests.map((one) => (one.kind === target.kind ? withClientConfig(one, value) : one));
}

function withClientConfig(manifest: Manifest, clientConfig: unknown): Manifest {
  const { webhooks } = z.object({ webhooks: z.array(z.looseObject({})) }).parse(manifest);
  const [first, ...others] = webhooks;
  return Object.assign({}, manifest, { webhooks: [{ ...first, clientConfig }, ...others] });
}

export async function applyInCluster(client: KubeClient, optional: readonly string[] = []): Promise<void> {
  await applyManifests(client, inClusterManifests(optional));
}

export interface ImageOptions {
  /** In the doors' paths. */
  readonly cluster?: string;
  readonly onOutput?: (text: string) => void;
}

/** The image that the manifests name, run by this Node from this checkout. */
export function serverImages({ cluster = "local", onOutput }: ImageOptions = {}): Images {
  const deployment = inClusterManifests().find(({ kind }) => kind === "Deployment");
  const image = Deployment.parse(deployment).spec.template.spec.containers[0]?.image ?? "";
  const run = ({ env, root: POD_ROOT, portOf }: Container): Program => ({
    command: process.execPath,
    args: imageArguments(),
    cwd: root,
    env: {
      ...env,
      POD_ROOT,
      LIFEBOAT_CLUSTER: cluster,
      HTTPS_PORT: String(portOf(8443)),
      PORT: String(portOf(8080)),
    },
    ...(onOutput && { onOutput }),
  });
  return new Map([[image, run]]);
}

/** Of Node, as the image has them. */
function imageArguments(): readonly string[] {
  const [, words = "[]"] = /^CMD (.*)$/m.exec(readFileSync(`${root}infra/Dockerfile`, "utf8")) ?? [];
  return z.array(z.string()).parse(JSON.parse(words));
}

function read(file: string): string {
  return readFileSync(`${folder}${file}`, "utf8");
}
