/**
 * Starts an API server with the shipped manifests and without controllers. Reduces each of its answers to the code and
 * a short message. The answer to a creation also has the spec.
 */
import * as z from "zod/mini";
import {
  applyManifests,
  type KubeClient,
  namespaces,
  type RawRequest,
  type Sandbox,
  startSandbox,
} from "../../../infra/sandbox/index.ts";
import { readManifests } from "../../support/manifests/shipped.ts";

export const NAMESPACE = "shop";
export const LIFEBOAT = "system:serviceaccount:lifeboat-system:lifeboat";
const API = "/apis/lifeboat.dev/v1alpha1";
const PATHS = {
  Evacuation: `${API}/namespaces/${NAMESPACE}/evacuations`,
  NodeEvacuation: `${API}/nodeevacuations`,
  RollingMaintenance: `${API}/rollingmaintenances`,
} as const;

const Body = z.object({ message: z.optional(z.string()), spec: z.optional(z.unknown()) });

/** Sends a request and returns the API server's answer. The message is empty unless the API server refuses. */
export async function answerTo(request: RawRequest, client: KubeClient) {
  const { code, body } = await client.raw(request);
  const { message = "", spec } = Body.parse(body);
  return { answer: [code, message.replace(/^.* denied request: /, "")], spec };
}

export type Stage = Awaited<ReturnType<typeof startStage>>;

export async function startStage(kind: keyof typeof PATHS, files: readonly string[]) {
  const sandbox: Sandbox = await startSandbox({ empty: true });
  const { client } = sandbox;
  await applyManifests(client, files.flatMap(readManifests));
  await client.create(namespaces, { metadata: { name: NAMESPACE } });
  const path = PATHS[kind];
  let count = 0;
  const create = async (spec?: object, by = client) => {
    const name = `n-${++count}`;
    const body = { apiVersion: "lifeboat.dev/v1alpha1", kind, metadata: { name }, ...(spec && { spec }) };
    return { name, ...(await answerTo({ method: "POST", path, body }, by)) };
  };
  const patch = async (name: string, body: object, by = client) => {
    const contentType = "application/merge-patch+json";
    return (await answerTo({ method: "PATCH", path: `${path}/${name}`, body, contentType }, by)).answer;
  };
  return {
    sandbox,
    path,
    create,
    patch,
    remove: async (name: string, by = client) =>
      (await answerTo({ method: "DELETE", path: `${path}/${name}` }, by)).answer,
    as: (user: string) => client.as(user, ["system:masters", "system:authenticated"]),
    async created(spec: object, status?: object): Promise<string> {
      const { name, answer } = await create(spec);
      const written = status === undefined ? [] : await patch(`${name}/status`, { status });
      if (answer[0] !== 201 || (written[0] ?? 200) !== 200) throw new Error([...answer, ...written].join(" "));
      return name;
    },
  };
}
