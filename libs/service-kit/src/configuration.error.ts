/** An invalid configuration: all faults at once, each with the name of its variable. */
export class ConfigurationError extends Error {
  constructor(faults: readonly string[]) {
    super(`the configuration cannot be used:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.name = 'ConfigurationError';
  }
}
