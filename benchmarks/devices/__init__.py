"""Mileage beside hdparm and dd on one loop device, in turn: do they measure the same speed?"""
