import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const COMPOSE_FILE = fileURLToPath(new URL('../../docker-compose.yml', import.meta.url));

export interface ComposeService {
  readonly image: string;
  readonly build?: string;
  readonly command: readonly string[];
  readonly user?: string;
  readonly restart?: string;
  readonly container_name?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes: readonly string[];
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly privileged?: boolean;
  readonly network_mode?: string;
  readonly pids_limit?: number;
  readonly mem_limit?: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
}

interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

export const compose = parse(readFileSync(COMPOSE_FILE, 'utf8'), { merge: true }) as ComposeFile;

export const serviceOf = (name: string): ComposeService => {
  const service = compose.services[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return service;
};

/** Like Compose: `${NAME:-default}` is the variable, or the default where it is unset or empty. */
export const interpolated = (text: string, variables: Readonly<Record<string, string>> = {}): string => {
  const inner = text.replaceAll(
    /\$\{(\w+):-([^${}]*)\}/g,
    (_, name: string, standard: string) => variables[name] || standard,
  );
  return inner === text ? text : interpolated(inner, variables);
};
