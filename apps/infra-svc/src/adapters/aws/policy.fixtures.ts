import { readFileSync } from 'node:fs';

const DOCUMENT = new URL('../../../../../docs/aws.md', import.meta.url);

export interface Statement {
  readonly Sid: string;
  readonly Action: readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The policy of IAM that docs/aws.md shows. */
export const documentedPolicy = (): readonly Statement[] => {
  const [, text = ''] = /```json\n(\{\n {2}"Version"[^`]*)```/.exec(readFileSync(DOCUMENT, 'utf8')) ?? [];
  return (JSON.parse(text) as { readonly Statement: readonly Statement[] }).Statement;
};

export const permittedActions = (): ReadonlySet<string> => new Set(documentedPolicy().flatMap(({ Action }) => Action));
