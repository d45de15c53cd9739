import type { OpenAPIObject } from '@nestjs/swagger';

type Part = Readonly<Record<string, unknown>>;
type Operation = Part & {
  readonly operationId: string;
  readonly parameters?: readonly Part[];
  readonly responses: Readonly<Record<string, Part>>;
};

/** A part of an operation, and the name that it gets if it is not the most frequent of its kind. */
interface Use {
  readonly kind: string;
  readonly part: Part;
  readonly ownName: string;
}

const ERROR_STATUS_MIN = 400;

const isError = (status: string): boolean => Number(status) >= ERROR_STATUS_MIN;

const errorUse = ({ operationId }: Operation, status: string, part: Part): Use => ({
  kind: `Error${status}`,
  part,
  ownName: `${operationId}${status}`,
});

const parameterUse = ({ operationId }: Operation, part: Part): Use => {
  const name = String(part['name']);
  return { kind: name, part, ownName: `${operationId}-${name}` };
};

const headersOf = (part: Part): readonly (readonly [string, Part])[] =>
  Object.entries((part['headers'] ?? {}) as Readonly<Record<string, Part>>);

const headerUses = ({ operationId, responses }: Operation): readonly Use[] =>
  Object.entries(responses).flatMap(([status, part]) =>
    isError(status)
      ? []
      : headersOf(part).map(([name, header]) => ({
          kind: name,
          part: header,
          ownName: `${operationId}${status}-${name}`,
        })),
  );

const operationsOf = ({ paths }: OpenAPIObject): readonly Operation[] =>
  Object.values(paths).flatMap((path) => Object.values(path) as Operation[]);

interface NamedPart {
  readonly name: string;
  readonly part: Part;
}

/** By its text, each part with its name: the most frequent of a kind has the name of the kind. */
const namesOf = (uses: readonly Use[]): ReadonlyMap<string, NamedPart> => {
  const counts = new Map<string, Use & { readonly text: string; readonly count: number }>();
  for (const use of uses) {
    const text = JSON.stringify(use.part);
    counts.set(text, { ...(counts.get(text) ?? use), text, count: (counts.get(text)?.count ?? 0) + 1 });
  }
  const taken = new Set<string>();
  const named = [...counts.values()]
    .toSorted((one, other) => other.count - one.count)
    .map(({ text, kind, ownName, part }) => {
      const name = taken.has(kind) ? ownName : kind;
      taken.add(name);
      return [text, { name, part }] as const;
    });
  return new Map(named);
};

const componentsOf = (named: ReadonlyMap<string, NamedPart>): Part =>
  Object.fromEntries(
    [...named.values()]
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .map(({ name, part }) => [name, part]),
  );

/** Refusals, parameters and headers that routes share are components, so that each is described once. */
export const withSharedParts = (document: OpenAPIObject): OpenAPIObject => {
  const operations = operationsOf(document);
  const errors = namesOf(
    operations.flatMap((operation) =>
      Object.entries(operation.responses).flatMap(([status, part]) =>
        isError(status) ? [errorUse(operation, status, part)] : [],
      ),
    ),
  );
  const parameters = namesOf(
    operations.flatMap((operation) => (operation.parameters ?? []).map((part) => parameterUse(operation, part))),
  );
  const headers = namesOf(operations.flatMap(headerUses));
  const refTo = (place: string, names: ReadonlyMap<string, NamedPart>, part: Part): Part => ({
    $ref: `#/components/${place}/${names.get(JSON.stringify(part))?.name}`,
  });
  const withHeaders = (part: Part): Part =>
    part['headers'] === undefined
      ? part
      : {
          ...part,
          headers: Object.fromEntries(
            headersOf(part).map(([name, header]) => [name, refTo('headers', headers, header)]),
          ),
        };
  const withRefs = (operation: Operation): Operation => ({
    ...operation,
    ...(operation.parameters === undefined
      ? {}
      : { parameters: operation.parameters.map((part) => refTo('parameters', parameters, part)) }),
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, part]) => [
        status,
        isError(status) ? refTo('responses', errors, part) : withHeaders(part),
      ]),
    ),
  });
  const paths = Object.entries(document.paths).map(([path, item]) => [
    path,
    Object.fromEntries(Object.entries(item).map(([method, operation]) => [method, withRefs(operation as Operation)])),
  ]);
  const components = {
    ...document.components,
    headers: componentsOf(headers),
    parameters: componentsOf(parameters),
    responses: componentsOf(errors),
  };
  return { ...document, paths: Object.fromEntries(paths), components } as OpenAPIObject;
};
