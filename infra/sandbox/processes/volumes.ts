/** Writes the volumes of pods as folders of this machine. */
import { randomUUID } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { V1VolumeProjection } from "@kubernetes/client-node";
import type { KubeClient } from "../actors/client.ts";
import { configMaps, pods, type Pod, serviceAccounts } from "../actors/resources.ts";
import { fieldOf } from "./pod-fields.ts";

export interface VolumeOptions {
  readonly kubelet: KubeClient;
  /** The content of the ConfigMap kube-root-ca.crt, which kube-controller-manager creates in every namespace. */
  readonly caPem: string;
  readonly root: string;
}

const ROOT_CA = "kube-root-ca.crt";
/** A kubelet renews a token after this fraction of its lifetime. */
const RENEW_AT = 0.8;
const DEFAULT_TOKEN_SECONDS = 3600;

/** Writes all volumes. Returns the number of seconds until the tokens must be renewed. */
export async function writeVolumes(pod: Pod, options: VolumeOptions): Promise<number> {
  const seconds: number[] = [];
  for (const { name, mountPath } of pod.spec?.containers[0]?.volumeMounts ?? []) {
    const folder = join(options.root, mountPath);
    await mkdir(folder, { recursive: true });
    for (const source of sourcesOf(pod, name)) {
      const { serviceAccountToken } = source;
      if (serviceAccountToken) seconds.push(serviceAccountToken.expirationSeconds ?? DEFAULT_TOKEN_SECONDS);
      for (const [path, text] of await filesOf(source, pod, options)) await replace(join(folder, path), text);
    }
  }
  return Math.min(...seconds) * RENEW_AT;
}

function sourcesOf({ spec }: Pod, name: string): readonly V1VolumeProjection[] {
  const volume = spec?.volumes?.find((one) => one.name === name);
  if (volume?.emptyDir !== undefined) return [];
  return volume?.projected?.sources ?? unsupported(name);
}

function unsupported(name: string): never {
  throw new Error(`the sandbox does not support the type of the volume ${name}`);
}

type File = readonly [path: string, text: string];

async function filesOf(source: V1VolumeProjection, pod: Pod, options: VolumeOptions): Promise<readonly File[]> {
  const { serviceAccountToken, configMap, downwardAPI } = source;
  if (serviceAccountToken) return [[serviceAccountToken.path, await requestToken(pod, serviceAccountToken, options)]];
  if (configMap) return itemsOf(await configMapData(configMap.name ?? "", pod, options), configMap.items);
  return (downwardAPI?.items ?? []).map(({ path, fieldRef }) => [path, fieldOf(pod, fieldRef?.fieldPath ?? "")]);
}

function itemsOf(data: Readonly<Record<string, string>>, items: { key: string; path: string }[] = []): readonly File[] {
  return items.map(({ key, path }) => [path, data[key] ?? ""]);
}

async function configMapData(name: string, pod: Pod, { kubelet, caPem }: VolumeOptions) {
  if (name === ROOT_CA) return { "ca.crt": caPem };
  const { namespace } = pod.metadata;
  return (await kubelet.get(configMaps, { namespace, name }))?.data ?? {};
}

type TokenSource = NonNullable<V1VolumeProjection["serviceAccountToken"]>;

async function requestToken(pod: Pod, source: TokenSource, { kubelet }: VolumeOptions): Promise<string> {
  const { namespace, name, uid } = pod.metadata;
  const account = { namespace, name: pod.spec?.serviceAccountName ?? "default" };
  const { audience, expirationSeconds = DEFAULT_TOKEN_SECONDS } = source;
  const request = (await kubelet.post(serviceAccounts, account, "token", {
    spec: {
      ...(audience && { audiences: [audience] }),
      expirationSeconds,
      boundObjectRef: { apiVersion: pods.apiVersion, kind: pods.kind, name, uid },
    },
  })) as { status: { token: string } };
  return request.status.token;
}

/** Replaces a file atomically. Readers get either the old or the new content. */
async function replace(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  // The name is unique, because a test and a timer can renew the tokens at the same time.
  const fresh = `${file}.${randomUUID()}`;
  await writeFile(fresh, text, { mode: 0o600 });
  await rename(fresh, file);
}
