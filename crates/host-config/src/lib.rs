//! Both dialects and the environment, as typed settings.
