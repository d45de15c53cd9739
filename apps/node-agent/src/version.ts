/** Set by the bundler from package.json; differs when run from source. */
export const AGENT_VERSION: string = process.env.FAIRLEAD_AGENT_VERSION ?? '0.0.0-source';
