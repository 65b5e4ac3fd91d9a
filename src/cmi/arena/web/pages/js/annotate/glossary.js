// The descriptors that annotators share, by dimension: those of praise first, then those of blame. The words themselves
// are in words/*.json under glossary.word.*.
export const GLOSSARY = {
  melody: ["catchy", "memorable", "distinct", "repetitive", "generic", "wandering"],
  structure: ["coherent", "progression", "build-up", "disjointed", "abrupt", "random-loops"],
  rhythm: ["groovy", "steady", "driving", "off-beat", "unstable", "chaotic"],
  quality: ["clean-mix", "balanced", "high-fidelity", "harsh", "muddy", "distorted"],
  vocals: ["natural", "clear-articulation", "robotic", "slurred", "artefacts"],
};
