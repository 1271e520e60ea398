/** A process that performs runs: told which, it says what they came to. */
import * as z from "zod/mini";
import { isFault } from "./fault-table.ts";
import { FORMS } from "./form.ts";
import { createRunner } from "./runner.ts";

const Order = z.object({
  seed: z.string(),
  run: z.number(),
  vms: z.exactOptional(z.number()),
  form: z.exactOptional(z.enum(FORMS)),
  real: z.exactOptional(z.boolean()),
  only: z.exactOptional(z.array(z.string().check(z.refine(isFault)))),
});

const runner = createRunner(process.argv.includes("--verbose") ? (line) => console.error(line) : undefined);

process.on("message", (message: unknown) => {
  const { only, ...order } = Order.parse(message);
  void runner
    .perform({ ...order, ...(only !== undefined && { only: only.filter((name) => isFault(name)) }) })
    .then((report) => process.send?.(report));
});
process.on("disconnect", () => void runner.stop().finally(() => process.exit()));
