/** A plugin of oxlint: comments are plain English. */
import { problemsOf } from "./plain-english.ts";

interface Comment {
  readonly type: string;
  readonly value: string;
  readonly loc: { readonly start: { readonly line: number }; readonly end: { readonly line: number } };
}

interface Context {
  readonly sourceCode: { getAllComments(): readonly Comment[] };
  report(problem: { readonly node: Comment; readonly message: string }): void;
}

/** Consecutive line comments are one text. */
function textsOf(comments: readonly Comment[]): readonly { readonly node: Comment; readonly text: string }[] {
  const texts: { node: Comment; text: string; end: number }[] = [];
  for (const comment of comments) {
    const text = comment.value.replaceAll(/^\s*\*+/gmu, " ");
    const last = texts.at(-1);
    const continues = comment.type === "Line" && last?.node.type === "Line" && last.end + 1 === comment.loc.start.line;
    if (continues) Object.assign(last, { text: `${last.text} ${text}`, end: comment.loc.end.line });
    else texts.push({ node: comment, text, end: comment.loc.end.line });
  }
  return texts;
}

/** Directives for tools. */
const IS_DIRECTIVE = /^\s*(?:prettier-ignore|oxlint-|eslint-|@ts-|#)/;

const comments = {
  create: (context: Context) => ({
    Program() {
      for (const { node, text } of textsOf(context.sourceCode.getAllComments())) {
        if (IS_DIRECTIVE.test(text)) continue;
        // Code in backquotes is one word.
        for (const { sentence, message } of problemsOf({ text: text.replaceAll(/`[^`]*`/gu, "Code") })) {
          context.report({ node, message: `"${sentence.slice(0, 60)}" ${message}` });
        }
      }
    },
  }),
};

const plugin = { meta: { name: "prose" }, rules: { comments } };
export default plugin;
