/** The style sheet. */
import { FRAME } from "./frame.ts";
import { PARTS } from "./parts.ts";
import { TOKENS } from "./tokens.ts";

export const STYLE = TOKENS + FRAME + PARTS;
