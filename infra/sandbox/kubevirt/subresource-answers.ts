/** virt-api's answers to requests for subresources. */
export interface Key {
  readonly namespace: string;
  readonly name: string;
}

/**
 * The answer to a request. Answers with the code 200 or 202 have no body. Answers with the code 401 have plain text.
 */
export interface SubresourceAnswer {
  readonly code: number;
  readonly status?: object;
  readonly text?: string;
}

export function optionsIn(body: string): Readonly<Record<string, unknown>> {
  return body === "" ? {} : (JSON.parse(body) as Readonly<Record<string, unknown>>);
}

export function internal(why: string): SubresourceAnswer {
  return refusal(500, "InternalError", `Internal error occurred: ${why}`);
}

export function conflict({ name }: Key, why: string): SubresourceAnswer {
  return refusal(409, "Conflict", `Operation cannot be fulfilled on virtualmachine.kubevirt.io "${name}": ${why}`);
}

export function notFound(kind: string, { name }: Key): SubresourceAnswer {
  return refusal(404, "NotFound", `${kind}.kubevirt.io "${name}" not found`);
}

export function refusal(code: number, reason: string, message: string): SubresourceAnswer {
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
  return { code, status };
}
