"""A specification as text, for tests."""

from __future__ import annotations


def small(inside: str = "", *, task: str = "", root: str = "", flow: str = "") -> str:
    return f"""<specificationSet xmlns="http://www.yawlfoundation.org/yawlschema" version="4.0" {root}>
  <specification uri="s"><metaData/>
    <decomposition id="N" isRootNet="true" xmlns:xsi="x" xsi:type="NetFactsType">
      <processControlElements>
        <inputCondition id="i"><flowsInto><nextElementRef id="a"/></flowsInto></inputCondition>
        <task id="a">{task}<flowsInto><nextElementRef id="o"/>{flow}</flowsInto>
          <join code="xor"/><split code="xor"/></task>
        <outputCondition id="o"/>{inside}
      </processControlElements>
    </decomposition>
  </specification>
</specificationSet>"""
