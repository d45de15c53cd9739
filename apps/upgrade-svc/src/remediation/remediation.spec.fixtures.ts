import type { Fact } from '@fairlead/contracts';
import { Story } from './remediation.fixtures.js';

export const MINUTES = 60;

export const CHECK = { unhealthyAfter: '5m', startupTimeout: '10m', maxUnhealthy: 1 };

export const web = (check: object = {}, nodes = 3): Story => new Story({ web: nodes }, { web: { ...CHECK, ...check } });

export const typesOf = (facts: readonly Fact[]): readonly string[] => facts.map(({ type }) => type);

export const requestId = 'remediation-1';
