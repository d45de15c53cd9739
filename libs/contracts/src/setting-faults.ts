import * as z from 'zod';
import { nearestOf } from './nearest.js';
import { refuse, type Refusal, type RefusalCode } from './refusals.js';

/** A fault in one of a connection's settings. It never repeats a value that the schema rejected: it may be a secret. */
export interface SettingFault {
  /** `hosts[2].address` */
  readonly field: string;
  readonly message: string;
  /** Set if the fault has its own code; absent: `connection.settings-invalid`. */
  readonly code?: RefusalCode;
}

/** The refusal for this fault of a connection. */
export const settingRefusal = (
  connection: string,
  { field, message, code = 'connection.settings-invalid' }: SettingFault,
): Refusal => refuse(code, { connection, detail: `${field} ${message}` }, `settings.${field}`);

type Path = readonly PropertyKey[];
type JsonSchema = z.core.JSONSchema._JSONSchema;

/** The path of a setting: `hosts[2].address`. */
export const settingPath = (path: Path): string =>
  path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}${text === '' ? '' : '.'}${String(part)}`),
    '',
  );

const optionsOf = (schema: JsonSchema | undefined): readonly Exclude<JsonSchema, boolean>[] => {
  if (schema === undefined || typeof schema === 'boolean') return [];
  return [schema, ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap(optionsOf)];
};

const within = (schema: JsonSchema, part: PropertyKey): readonly JsonSchema[] =>
  optionsOf(schema).flatMap(({ properties, items, additionalProperties }) => {
    if (typeof part === 'number') return items === undefined || Array.isArray(items) ? [] : [items as JsonSchema];
    const named = properties?.[String(part)] ?? additionalProperties;
    return named === undefined ? [] : [named];
  });

/** The known setting names at a path. */
const namesAt = (schema: z.ZodType, path: Path): readonly string[] => {
  const root: readonly JsonSchema[] = [z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })];
  const found = path.reduce((schemas, part) => schemas.flatMap((one) => within(one, part)), root);
  return [...new Set(found.flatMap(optionsOf).flatMap(({ properties = {} }) => Object.keys(properties)))];
};

const unknownSetting = (name: string, known: readonly string[]): string => {
  const nearest = nearestOf(name, known);
  if (nearest !== undefined) return `unknown setting; did you mean ${nearest}?`;
  return known.length === 0 ? 'unknown setting' : `unknown setting; known: ${known.join(', ')}`;
};

type Issue = z.core.$ZodIssue;

/** The code for an invalid value at a path; undefined: it has no code of its own. */
export type CodeOfForm = (path: Path) => RefusalCode | undefined;

/** The code that a rule over several settings sets, as `params.code` of its issue. */
const codeOfRule = ({ params }: Extract<Issue, { code: 'custom' }>): RefusalCode | undefined =>
  params?.['code'] as RefusalCode | undefined;

const faultOf = (issue: Issue, codeOfForm: CodeOfForm): SettingFault => {
  const fault = { field: settingPath(issue.path), message: issue.message };
  const code = issue.code === 'custom' ? codeOfRule(issue) : codeOfForm(issue.path);
  return code === undefined ? fault : { ...fault, code };
};

/** All faults of the settings, each with its path; empty: none. */
export const faultsOf = (
  schema: z.ZodType,
  settings: unknown,
  codeOfForm: CodeOfForm = () => undefined,
): readonly SettingFault[] => {
  const parsed = schema.safeParse(settings);
  if (parsed.success) return [];
  return parsed.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({
          field: settingPath([...issue.path, key]),
          message: unknownSetting(key, namesAt(schema, issue.path)),
        }))
      : [faultOf(issue, codeOfForm)],
  );
};
