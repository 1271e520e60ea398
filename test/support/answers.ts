/** Defines the requests to a fake HTTP server, and its answers with and without errors. */
export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export type Behaviour = (request: HttpRequest, signal: AbortSignal) => Response | Promise<Response>;

export const json =
  (body: unknown, code = 200): Behaviour =>
  () =>
    Response.json(body, { status: code });

export const status = (code: number, reason: string, message = reason): Behaviour =>
  json({ kind: "Status", apiVersion: "v1", status: "Failure", reason, message, code }, code);

export const html =
  (code: number): Behaviour =>
  () =>
    new Response(`<html><h1>${code}</h1>${SECRET_OF_UPSTREAM}`, { status: code });

/** A part of every faulty answer. Tests check that this text does not appear in output. */
export const SECRET_OF_UPSTREAM = "secret-of-the-upstream";

export const neverAnswering: Behaviour = (_, signal) =>
  new Promise((_answer, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

function bodyOf(beginning: string, then: (controller: ReadableByteStreamController) => void): Response {
  const start = (controller: ReadableByteStreamController) => {
    controller.enqueue(new TextEncoder().encode(beginning));
    then(controller);
  };
  return new Response(new ReadableStream({ type: "bytes", start }));
}

/** Sends only the start of a body. */
export const stalling: Behaviour = (_, signal) =>
  bodyOf('{"kind":"Pod",', (body) => signal.addEventListener("abort", () => body.error(signal.reason)));

/** Breaks the connection before the end of the body. */
export const truncating: Behaviour = () => bodyOf('{"kind":"Pod"', (body) => body.error(new TypeError("terminated")));

export const hangingUp: Behaviour = () => {
  throw new TypeError("fetch failed");
};

export const redirecting =
  (location: string, code = 302): Behaviour =>
  ({ path }) =>
    new Response(null, { status: code, headers: { location: `${location}${path}` } });
