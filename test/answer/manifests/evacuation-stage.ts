/** An API server with the shipped manifests about Evacuations, and nothing that acts on them. */
import * as z from "zod/mini";
import {
  applyManifests,
  type KubeClient,
  namespaces,
  type RawAnswer,
  type Sandbox,
  startSandbox,
} from "../../../infra/sandbox/index.ts";
import { readManifests } from "../../support/manifests/shipped.ts";

export const FILES = ["evacuation-roles.yaml", "evacuation-deletion.yaml", "crds/evacuations.yaml"];
export const NAMESPACE = "shop";
export const GROUP_VERSION = "/apis/lifeboat.dev/v1alpha1";
export const PATH = `${GROUP_VERSION}/namespaces/${NAMESPACE}/evacuations`;

// As the CustomResourceDefinition lists them.
export const ACTIVE = [
  "Pending",
  "Migrating",
  "BackingOff",
  "WaitingForExternalController",
  "Blocked",
  "Restarting",
  "Stopping",
];
export const ENDED = ["Moved", "Restarted", "Stopped", "Abandoned", "Withdrawn", "Duplicate", "Gone"];

/** What a person writes. */
export const VM = { virtualMachineInstance: { name: "web-1" } };

const Refusal = z.object({ message: z.optional(z.string()) });
const Created = z.object({ metadata: z.object({ name: z.string() }) });

/** The message is empty unless the request was refused. */
export function answerOf({ code, body }: RawAnswer): readonly [code: number, message: string] {
  return [code, Refusal.parse(body).message ?? ""];
}

export interface Stage {
  readonly sandbox: Sandbox;
  /** A new Evacuation; its status is written as Lifeboat does, if there is one. Resolves to its name. */
  created(spec?: object, status?: object): Promise<string>;
  post(spec: object | undefined, more?: object): Promise<RawAnswer>;
  patch(path: string, body: object, client?: KubeClient): Promise<RawAnswer>;
}

export async function startStage(): Promise<Stage> {
  const sandbox = await startSandbox({ empty: true });
  const { client } = sandbox;
  await applyManifests(client, FILES.flatMap(readManifests));
  await client.create(namespaces, { metadata: { name: NAMESPACE } });
  let count = 0;
  const post: Stage["post"] = (spec, more = {}) => {
    const head = { apiVersion: "lifeboat.dev/v1alpha1", kind: "Evacuation", metadata: { name: `evac-${++count}` } };
    return client.raw({ method: "POST", path: PATH, body: { ...head, ...(spec && { spec }), ...more } });
  };
  const patch: Stage["patch"] = (path, body, as = client) =>
    as.raw({ method: "PATCH", path: `${PATH}/${path}`, body, contentType: "application/merge-patch+json" });
  return {
    sandbox,
    post,
    patch,
    async created(spec = VM, status) {
      const answer = await post(spec);
      if (answer.code !== 201) throw new Error(answerOf(answer)[1]);
      const { metadata } = Created.parse(answer.body);
      if (status !== undefined) {
        const written = await patch(`${metadata.name}/status`, { status });
        if (written.code !== 200) throw new Error(answerOf(written)[1]);
      }
      return metadata.name;
    },
  };
}
