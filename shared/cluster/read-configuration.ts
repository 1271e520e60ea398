/** Reads the LifeboatConfiguration. */
import * as z from "zod/mini";
import { CONFIGURATION } from "../policy/names.ts";
import { ClusterError } from "./failure.ts";
import { API_GROUP, type Resource } from "./paths.ts";
import { type ConfigurationFacts, LifeboatConfiguration } from "./kinds/lifeboat.ts";
import { parseAnswer, readOne } from "./read.ts";
import type { Send } from "./transport.ts";

const RESOURCE: Resource = "lifeboatconfigurations";
const Groups = z.object({ kind: z.literal("APIGroupList"), groups: z.array(z.object({ name: z.string() })) });
const Resources = z.object({ kind: z.literal("APIResourceList"), resources: z.array(z.object({ name: z.string() })) });

/**
 * Undefined, too, where there is no such kind: the API server's 404 is then a text, as that of a proxy may be, and only
 * discovery can tell the two apart.
 */
export async function readConfiguration(send: Send): Promise<ConfigurationFacts | undefined> {
  try {
    return await readOne(send, RESOURCE, { namespace: "", name: CONFIGURATION }, LifeboatConfiguration);
  } catch (error) {
    if (!isPageNotFound(error) || (await isServed(send).catch(() => true))) throw error;
    return undefined;
  }
}

function isPageNotFound(error: unknown): boolean {
  if (!(error instanceof ClusterError)) return false;
  const { failure } = error;
  return failure.reason === "Unintelligible" || (failure.reason === "Refused" && failure.code === 404);
}

async function isServed(send: Send): Promise<boolean> {
  const [group = ""] = API_GROUP.split("/");
  const discover = async <S extends z.ZodMiniType>(path: string, schema: S) =>
    parseAnswer(schema, (await send({ method: "GET", path })).body, `GET ${path}`);
  const { groups } = await discover("/apis", Groups);
  if (!groups.some(({ name }) => name === group)) return false;
  const { resources } = await discover(`/apis/${API_GROUP}`, Resources);
  return resources.some(({ name }) => name === RESOURCE);
}
