/** The bodies of requests to subresources: Eviction, Binding and TokenRequest. */
import type { ResourceContext } from "../context.ts";
import { checkObject } from "../decoding.ts";
import type { ResourceKind } from "../kinds/kind.ts";
import type { KubeObject, Tree } from "../objects.ts";
import { readWriteOptions } from "../options.ts";
import { fieldCheck } from "./check.ts";

export async function checkSubresource(ctx: ResourceContext, kind: ResourceKind, body: Tree): Promise<KubeObject> {
  const object = checkObject({ ...ctx, kind }, body);
  (await fieldCheck({ ...ctx, kind }, readWriteOptions(ctx)))(object);
  return object;
}
